import { join } from "node:path";
import type { Artifact as SavedArtifact } from "../protocol/event.ts";

/** A set of files that a job leaves, in Hugging Face's layout. */
export interface Artifact extends SavedArtifact {
  /** Absolute path of the files, for `loadModel`. */
  directory: string;
}

/** @param jobDirectory absolute path of the job's directory */
export function locateArtifact(artifact: SavedArtifact, jobDirectory: string): Artifact {
  return { ...artifact, directory: join(jobDirectory, artifact.path) };
}
