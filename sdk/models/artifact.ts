import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import {
  checkpointSteps,
  hasSavedCheckpoint,
  artifactExists,
  isRemoteArtifact,
  readResult,
  refuseLinkedArtifacts,
} from "../../jobs/artifactFiles.ts";
import { isJobDirectory, readEngineName } from "../../jobs/jobFile.ts";
import { watchJob } from "../../jobs/jobWatch.ts";
import { readRemoteLocation } from "../../jobs/remoteLocation.ts";
import { ARTIFACTS, checkpointFolder } from "../../protocol/artifactPath.ts";
import type { Engine, FetchOptions, RemoteTraining } from "../../protocol/engine.ts";
import { KitError } from "../../protocol/error.ts";
import type { EventData, Artifact as SavedArtifact } from "../../protocol/event.ts";
import { isFinal } from "../../protocol/job.ts";

/** A set of files that a job saved, in Hugging Face's layout. */
export interface Artifact extends SavedArtifact {
  /** Absolute path of the files, for `loadModel`. */
  directory: string;
  /**
   * Downloads files that are kept on a cluster, checked by SHA-256. Resolves at once when they are here;
   * several calls transfer them once.
   * @param options `onProgress` gets the bytes so far and in all; by default, the run's output shows them.
   * Aborting `signal` ends the transfer; the next call continues with the missing files
   * @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`, `CHECKPOINT_INVALID` when they are gone,
   * `CHECKPOINT_UNWRITABLE`
   * @example
   * await artifact.fetch({ onProgress: ({ bytes, totalBytes }) => console.log(bytes, totalBytes) });
   */
  fetch: (options?: ArtifactFetchOptions) => Promise<void>;
}

/** Options of `Artifact.fetch`. */
export type ArtifactFetchOptions = Pick<FetchOptions, "signal" | "onProgress">;

export interface ArtifactContext {
  /** Absolute path of the job's directory. */
  directory: string;
  engine: Fetcher;
  onNote: (text: string) => void;
}

export function locateArtifact(
  artifact: SavedArtifact,
  { directory: jobDirectory, engine, onNote }: ArtifactContext,
): Artifact {
  const directory = join(jobDirectory, artifact.path);
  return {
    ...artifact,
    directory,
    fetch: (options) => downloadArtifact(engine, { onNote, ...options, directory }),
  };
}

/** Limit of artifacts in a job's last record. */
const MAX_LISTED = 500;

/** Artifacts for a job's last record: the newest and the best, without absolute paths. */
export function listArtifacts(
  artifacts: readonly Artifact[],
): Pick<EventData["training.completed"], "artifacts" | "omitted"> {
  const first = artifacts.length - MAX_LISTED;
  const listed = artifacts.filter(({ best }, i) => best || i >= first);
  const omitted = artifacts.length - listed.length;
  return {
    artifacts: listed.map(({ directory: _, fetch: __, ...artifact }) => artifact),
    ...(omitted > 0 && { omitted }),
  };
}

/**
 * Resolves a job's directory to its result or, before completion, to its last checkpoint; a folder
 * `artifacts` to its last checkpoint. Returns any other directory unchanged.
 * @throws KitError `CHECKPOINT_INVALID` for a job that has saved none, or whose result was deleted; `LINK_IN_KIT`
 */
export function findArtifact(directory: string): string {
  const isJob = isJobDirectory(directory);
  if (!isJob && basename(directory) !== ARTIFACTS) return directory;
  if (isJob) refuseLinkedArtifacts(directory);
  const result = isJob ? readResult(directory) : undefined;
  if (result) return assertExists(join(directory, result.path));
  const parent = isJob ? join(directory, ARTIFACTS) : directory;
  const last = checkpointSteps(parent).at(-1);
  if (last !== undefined) return join(parent, checkpointFolder(last));
  if (!isJob) return directory;
  if (hasSavedCheckpoint(directory)) {
    throw new KitError(
      "CHECKPOINT_INVALID",
      `The checkpoints of the job in ${directory} were deleted. Train again, or load another job's.`,
    );
  }
  if (hasEnded(directory)) {
    throw new KitError(
      "CHECKPOINT_INVALID",
      `The job in ${directory} ended before it saved a checkpoint. Train again, or load another job's.`,
    );
  }
  throw new KitError(
    "CHECKPOINT_INVALID",
    `The job in ${directory} has saved no checkpoint. Wait for its first, or load another job's.`,
  );
}

function hasEnded(directory: string): boolean {
  const status = watchJob(directory)()?.job.status;
  return status !== undefined && isFinal(status);
}

function assertExists(path: string): string {
  if (artifactExists(path)) return path;
  throw new KitError(
    "CHECKPOINT_INVALID",
    `The job's result ${path} was deleted. Load another checkpoint.`,
  );
}

export type Fetcher = Pick<Engine, "remote">;

/**
 * Downloads an artifact's files, unless they are here.
 * @throws KitError `CHECKPOINT_INVALID` when they are gone or another engine has them, and as
 * `RemoteTraining.fetch`
 */
export async function downloadArtifact(engine: Fetcher, options: FetchOptions): Promise<void> {
  const { directory } = options;
  if (existsSync(directory)) return;
  if (!isRemoteArtifact(directory)) {
    throw new KitError("CHECKPOINT_INVALID", `${directory} was deleted. Use another checkpoint.`);
  }
  await remoteOf(engine, directory).fetch(options);
}

/** @throws KitError `CHECKPOINT_INVALID` for an engine that cannot fetch an artifact's files */
export function remoteOf({ remote }: Fetcher, artifact: string): RemoteTraining {
  if (remote) return remote;
  const job = dirname(dirname(artifact));
  const where = readRemoteLocation(job)?.where ?? "other machines";
  const name = readEngineName(job) ?? "the one that trained it";
  throw new KitError(
    "CHECKPOINT_INVALID",
    `The files of ${artifact} are on ${where}, not here. To fetch them, set the engine of the project's trainer back to ${name}, or pass it to loadModel.`,
  );
}
