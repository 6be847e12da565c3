import { isJobDirectory, readJobConfig } from "../../jobs/jobFile.ts";
import { identityOf, identityOfStart } from "../../jobs/keptAnswers.ts";
import type { LoadedModel } from "../../protocol/engine.ts";
import { KitError } from "../../protocol/error.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";
import { withStartingModel } from "../../sdk/engine.ts";
import { withModel } from "../../sdk/job/closeModel.ts";
import { findArtifact } from "../../sdk/job/findArtifact.ts";
import { LATEST } from "../findJob.ts";
import { findEngine } from "../infer/findEngine.ts";
import { findModel } from "../infer/findModel.ts";
import { loadAnswering } from "../infer/loadAnswering.ts";
import { BASE, configOf, isHubName } from "../startingModel.ts";

/** @param identity changes with the model */
type UseModel<T> = (model: () => Promise<LoadedModel>, identity: string) => Promise<T>;

/** A model to ask. */
export interface EvaluatedModel {
  /** As the user named it, or `base`. */
  name: string;
  /** Its job's folder and config, if it has one. */
  job: { directory: string; config: JobConfig } | undefined;
  /** Loads it for as long as `use` takes. */
  open: <T>(signal: AbortSignal, use: UseModel<T>) => Promise<T>;
}

type Note = (text: string) => void;

/**
 * Finds what `kit infer` takes, a name of the hub, or `base`.
 * @throws KitError `JOB_NOT_FOUND`, `PROMPT_INVALID`
 */
export function findEvaluated(project: string, named: string, onNote: Note): EvaluatedModel {
  if (named === BASE) return baseOf(project, jobAt(findModel(project, LATEST, onNote)), onNote);
  if (isHubName(project, named))
    return startingModel({ project, name: named, job: undefined, onNote }, configOf(named));
  const directory = findModel(project, named, onNote);
  return {
    name: named,
    job: jobAt(directory),
    open: (signal, use) =>
      withModel(
        `of ${named}`,
        async () => {
          const engine = await findEngine(project, directory);
          return loadAnswering(project, directory, { ...(engine && { engine }), signal, onNote });
        },
        (model) => use(model, identityOf(findArtifact(directory))),
        onNote,
      ),
  };
}

/** The model that a job began with. @throws KitError `PROMPT_INVALID` without a job */
export function baseOf(project: string, job: EvaluatedModel["job"], onNote: Note): EvaluatedModel {
  if (job) return startingModel({ project, name: BASE, job, onNote }, job.config);
  throw new KitError(
    "PROMPT_INVALID",
    "Only a job has a base. Name the model to compare with by --against.",
  );
}

interface StartingModel extends Pick<EvaluatedModel, "name" | "job"> {
  project: string;
  onNote: Note;
}

function startingModel(
  { project, name, job, onNote }: StartingModel,
  config: JobConfig,
): EvaluatedModel {
  return {
    name,
    job,
    open: (signal, use) =>
      withStartingModel(config, { signal, onNote }, (directory) => {
        const identity = identityOfStart(config, directory);
        const quantize = config.lora?.baseType;
        const loading = async () => {
          const engine = job && (await findEngine(project, job.directory));
          const how = { ...(engine && { engine }), ...(quantize && { quantize }) };
          return loadAnswering(project, directory, { ...how, signal, onNote });
        };
        return withModel(`of ${name}`, loading, (loaded) => use(loaded, identity), onNote);
      }),
  };
}

function jobAt(directory: string): EvaluatedModel["job"] {
  if (!isJobDirectory(directory)) return undefined;
  return { directory, config: readJobConfig(directory) as unknown as JobConfig };
}
