import { basename, join } from "node:path";
import { isJobDirectory, readJobConfig } from "../../jobs/jobFile.ts";
import { jobsPath } from "../../jobs/paths.ts";
import { createJobStore } from "../../jobs/store.ts";
import type { Engine, LoadOptions } from "../../protocol/engine.ts";
import { KitError } from "../../protocol/error.ts";
import type { Job } from "../../protocol/job.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";
import type { ServedModel } from "../../server/serve/shelf.ts";
import { LATEST } from "../findJob.ts";
import { findModel } from "../infer/findModel.ts";
import { kitCommand } from "../kitCommand.ts";
import { BASE, configOf, isHubName } from "../startingModel.ts";
import { openFolder, openStarting } from "./openModel.ts";

/** Where models come from, and how they are loaded. */
export interface ModelSource extends Required<Pick<LoadOptions, "onNote">> {
  project: string;
  options: LoadOptions;
  /** Default: the one that trained a model, or the default one. */
  engine?: Engine | undefined;
}

/** A model that somebody named, and what callers may call it. */
export interface NamedModel {
  served: ServedModel;
  names: string[];
  job?: Job;
  /** Of a job that trained an adapter: the model without it. */
  base?: ServedModel;
}

/**
 * Finds what `kit infer` takes, `base`, or a name of the hub.
 * @throws KitError `JOB_NOT_FOUND`
 */
export async function findNamed(source: ModelSource, named: string): Promise<NamedModel> {
  const { project, onNote } = source;
  if (named === LATEST) return jobModel(source, newestCompleted(project));
  if (named === BASE) {
    const config = configAt(directoryOf(project, newestCompleted(project)));
    return { served: openStarting(source, BASE, config), names: [BASE] };
  }
  if (isHubName(project, named)) {
    return { served: openStarting(source, named, configOf(named)), names: [named] };
  }
  const directory = findModel(project, named, onNote);
  const job = isJobDirectory(directory)
    ? createJobStore(project).get(basename(directory))?.job
    : undefined;
  if (job) return jobModel(source, job);
  const id = basename(directory);
  return { served: await openFolder(source, directory, { id }), names: [id] };
}

/** The model of a job, with its base if it is an adapter's. */
export async function jobModel(source: ModelSource, job: Job): Promise<NamedModel> {
  const directory = directoryOf(source.project, job);
  const created = Math.floor(Date.parse(job.createdAt) / 1000);
  const served = await openFolder(source, directory, { id: job.id, created });
  const config = configAt(directory);
  const base = config.lora && openStarting(source, BASE, config);
  return { served, names: [job.id, job.name], job, ...(base && { base }) };
}

/** @throws KitError `JOB_NOT_FOUND` */
function newestCompleted(project: string): Job {
  const found = createJobStore(project)
    .list()
    .find(({ status }) => status === "completed");
  if (found) return found;
  throw new KitError(
    "JOB_NOT_FOUND",
    `No job in ${project} is completed. Run ${kitCommand(project, "start")} first, or name a model.`,
  );
}

function directoryOf(project: string, { id }: Job): string {
  return join(jobsPath(project), id);
}

function configAt(directory: string): JobConfig {
  return (readJobConfig(directory) ?? {}) as unknown as JobConfig;
}
