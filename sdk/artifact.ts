import { join } from "node:path";
import type { FetchOptions } from "../protocol/engine.ts";
import type { EventData, Artifact as SavedArtifact } from "../protocol/event.ts";
import { type Fetching, downloadArtifact } from "./job/downloadArtifact.ts";

/** A set of files that a job leaves, in Hugging Face's layout. */
export interface Artifact extends SavedArtifact {
  /** Absolute path of the files, for `loadModel`. */
  directory: string;
  /**
   * Brings the files here if they are kept on a cluster, checked by their SHA-256. Resolves at once when
   * they are here; several calls transfer them once.
   * @param options `onProgress` takes the bytes so far and in all; without it, the run's output says how
   * far it is. Aborting `signal` ends the transfer, and the next call goes on with the files that are whole
   * @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`, `CHECKPOINT_INVALID` when they are gone,
   * `CHECKPOINT_UNWRITABLE`
   * @example
   * await artifact.fetch({ onProgress: ({ bytes, totalBytes }) => console.log(bytes, totalBytes) });
   */
  fetch: (options?: ArtifactFetchOptions) => Promise<void>;
}

/** How to follow a transfer, and end it. */
export type ArtifactFetchOptions = Pick<FetchOptions, "signal" | "onProgress">;

/** What a job's artifacts have in common. */
export interface ArtifactsOf {
  /** Absolute path of the job's directory. */
  directory: string;
  engine: Fetching;
  onNote: (text: string) => void;
}

export function locateArtifact(
  artifact: SavedArtifact,
  { directory: jobDirectory, engine, onNote }: ArtifactsOf,
): Artifact {
  const directory = join(jobDirectory, artifact.path);
  return {
    ...artifact,
    directory,
    fetch: (options) => downloadArtifact(engine, { onNote, ...options, directory }),
  };
}

/** The most that a job's last record names. */
const MOST_LISTED = 500;

/** Artifacts as a job's last record has them: the same wherever the project lies, the newest and the best. */
export function listed(
  artifacts: readonly Artifact[],
): Pick<EventData["training.completed"], "artifacts" | "omitted"> {
  const first = artifacts.length - MOST_LISTED;
  const named = artifacts.filter(({ best }, i) => best || i >= first);
  const omitted = artifacts.length - named.length;
  return {
    artifacts: named.map(({ directory: _, fetch: __, ...artifact }) => artifact),
    ...(omitted > 0 && { omitted }),
  };
}
