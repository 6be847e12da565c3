import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { isRemoteArtifact } from "../../jobs/artifactFiles.ts";
import { readEngineName } from "../../jobs/jobFile.ts";
import { readRemoteLocation } from "../../jobs/remoteLocation.ts";
import type { Engine, FetchOptions, RemoteTraining } from "../../protocol/engine.ts";
import { KitError } from "../../protocol/error.ts";

/** An engine, as far as an artifact's files need it. */
export type Fetching = Pick<Engine, "remote">;

/**
 * Brings an artifact's files here from where the engine keeps them; does nothing when they are here.
 * @throws KitError `CHECKPOINT_INVALID` when they are gone or the engine is another, and as
 * `RemoteTraining.fetch`
 */
export async function downloadArtifact(engine: Fetching, options: FetchOptions): Promise<void> {
  const { directory } = options;
  if (existsSync(directory)) return;
  if (!isRemoteArtifact(directory)) {
    throw new KitError("CHECKPOINT_INVALID", `${directory} was deleted. Use another checkpoint.`);
  }
  await remoteOf(engine, directory).fetch(options);
}

/** @throws KitError `CHECKPOINT_INVALID` for an engine that cannot fetch an artifact's files */
export function remoteOf({ remote }: Fetching, artifact: string): RemoteTraining {
  if (remote) return remote;
  const job = dirname(dirname(artifact));
  const where = readRemoteLocation(job)?.where ?? "other machines";
  const name = readEngineName(job) ?? "the one that trained it";
  throw new KitError(
    "CHECKPOINT_INVALID",
    `The files of ${artifact} are on ${where}, not here. To fetch them, set the engine of the project's trainer back to ${name}, or pass it to loadModel.`,
  );
}
