import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { checkpointSteps, hasSavedCheckpoint, artifactExists } from "../../jobs/artifactFiles.ts";
import { assertReadableJobs, isJobDirectory, readJobConfig } from "../../jobs/jobFile.ts";
import { jobsPath } from "../../jobs/paths.ts";
import { createJobStore } from "../../jobs/store.ts";
import { ARTIFACTS, stepOfEntry } from "../../protocol/artifactPath.ts";
import type { Engine } from "../../protocol/engine.ts";
import { KitError } from "../../protocol/error.ts";
import { type Job, isFinal } from "../../protocol/job.ts";
import { printable } from "../../protocol/printable.ts";
import { type JobConfig, isModelPath, isPretrained } from "../../protocol/trainConfig.ts";
import { isInitialModelName } from "../engine.ts";

/** Names the newest job; as a model, the newest with a checkpoint. */
export const LATEST = "latest";
/** Names the model that `latest` started from. */
export const BASE = "base";

/** A project to look up models in. */
export interface ModelProject {
  /** Absolute path. */
  directory: string;
  /** Absolute path of the user's folder, the first base of relative model paths. */
  userFolder: string;
  /** Formats a `kit` command for the user to run. */
  kit: (words: string) => string;
  /** The engine of the project's trainer. Runs the project's code. */
  engine: () => Promise<Engine>;
  onNote: (text: string) => void;
}

/** The job of a model. */
export interface ReferencedJob {
  /** Absolute path. */
  directory: string;
  config: JobConfig;
  /** Undefined for another project's job. */
  listed: Job | undefined;
}

/** A model that the user named. */
export type ModelReference = SavedModel | InitialModel;

/** A job, a checkpoint's folder, or a `.gguf` file. */
export interface SavedModel {
  kind: "saved";
  /** The user's name for it. */
  name: string;
  /** Absolute path. */
  directory: string;
  job: ReferencedJob | undefined;
}

/** A starting model: a job's, or one on the hub. */
export interface InitialModel {
  kind: "base";
  name: string;
  job: ReferencedJob | undefined;
}

/**
 * Finds the model that a word names: what `findSaved` finds, `base`, or a name on the hub.
 * @throws KitError `JOB_NOT_FOUND`, `USAGE_INVALID`
 */
export function findReference(project: ModelProject, word: string): ModelReference {
  if (word === BASE) return baseOf(findSaved(project, LATEST));
  if (!word.includes("/") || isPath(project, word)) return findSaved(project, word);
  return { kind: "base", name: word, job: undefined };
}

/** Whether a word with a slash is a path, not a model name. */
function isPath(project: ModelProject, word: string): boolean {
  if (isModelPath(word) || /\.gguf$/i.test(word) || !isInitialModelName(word)) return true;
  if (stepOfEntry(basename(word)) !== undefined) return true;
  const [first = ""] = word.split("/");
  // A folder `kit` does not hide Kit's own models.
  const start = isPretrained(word) ? first : word;
  return foldersOf(project).some((folder) => existsSync(resolve(folder, start)));
}

/** Base folders of relative paths; the first where the path exists counts. */
function foldersOf({ userFolder, directory }: ModelProject): string[] {
  return [...new Set([userFolder, directory])];
}

/** The model that a job started from. @throws KitError `USAGE_INVALID` without a job */
export function baseOf({ job }: Pick<ModelReference, "job">): InitialModel {
  if (job) return { kind: "base", name: BASE, job };
  throw new KitError(
    "USAGE_INVALID",
    "Only a job has a base. Pass the model to compare with as --against.",
  );
}

/**
 * Finds a saved model by a job's id, its prefix, `latest`, or a path. Notes the job that it uses instead
 * of the newest.
 * @throws KitError `JOB_NOT_FOUND`
 */
export function findSaved(project: ModelProject, word: string): SavedModel {
  const namedJob = /[\\/]|^\.*$/.test(word) ? undefined : findJob(project.directory, word);
  const job = namedJob && word === LATEST ? newestSaved(project, namedJob) : namedJob;
  const directory = job ? folderOf(project, job) : existingPath(project, word);
  if (directory === undefined) {
    const searched = foldersOf(project).join(" or ");
    throw noJob(project, word, "job, folder or file", searched);
  }
  return { kind: "saved", name: word, directory, job: jobAt(project, directory) };
}

function existingPath(project: ModelProject, word: string): string | undefined {
  return foldersOf(project)
    .map((folder) => resolve(folder, word))
    .find((path) => artifactExists(path));
}

/** The job in a folder. */
export function jobAt(project: ModelProject, directory: string): ReferencedJob | undefined {
  if (!isJobDirectory(directory)) return undefined;
  const listed = createJobStore(project.directory).get(basename(directory))?.job;
  return { directory, config: (readJobConfig(directory) ?? {}) as unknown as JobConfig, listed };
}

/** The newest job itself if none has saved anything. */
function newestSaved(project: ModelProject, newest: Job): Job {
  const saved = createJobStore(project.directory)
    .list()
    .find((job) => hasCheckpoint(project, job));
  if (!saved || saved.id === newest.id) return newest;
  const yet = isFinal(newest.status) ? "" : " yet";
  const why = hasSavedCheckpoint(folderOf(project, newest))
    ? `the checkpoints of job ${newest.id} were deleted`
    : `job ${newest.id} has saved nothing${yet}`;
  project.onNote(`${why}; using job ${saved.id} ${printable(saved.name)}`);
  return saved;
}

/** Whether a job has any checkpoint left. */
export function hasCheckpoint(project: ModelProject, job: Pick<Job, "id">): boolean {
  return checkpointSteps(join(folderOf(project, job), ARTIFACTS)).length > 0;
}

function folderOf({ directory }: ModelProject, { id }: Pick<Job, "id">): string {
  return join(jobsPath(directory), id);
}

/**
 * Finds a job by its id, its prefix, or `latest`.
 * @throws KitError `JOB_NOT_FOUND` for an ambiguous prefix
 */
export function findJob(project: string, name: string): Job | undefined {
  const jobs = createJobStore(project).list();
  if (name === LATEST && jobs.length > 0) return jobs[0];
  // An empty name would match every id.
  const found = jobs.filter(({ id }) => name !== "" && id.startsWith(name));
  if (found.length < 2) return found[0];
  throw new KitError(
    "JOB_NOT_FOUND",
    `${name} matches ${found.length} jobs. Use a longer prefix, or "${LATEST}".`,
  );
}

/**
 * The error for an unknown job name.
 * @throws KitError `CANNOT_READ` when all jobs are another user's
 */
export function noJob(
  { directory, kit }: Pick<ModelProject, "directory" | "kit">,
  name: string,
  what: string,
  searched = directory,
): KitError {
  assertReadableJobs(directory);
  return new KitError(
    "JOB_NOT_FOUND",
    name === LATEST
      ? `There is no job in ${directory} yet. Run ${kit("start")} first.`
      : `No ${what} named ${name || '""'} in ${searched}. Run ${kit("jobs")} to see the ids.`,
  );
}
