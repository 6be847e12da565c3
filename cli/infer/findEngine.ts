import { dirname } from "node:path";
import { isRemoteArtifact } from "../../jobs/artifactFiles.ts";
import { readEngineName } from "../../jobs/jobFile.ts";
import type { Engine } from "../../protocol/engine.ts";
import { DEFAULT_ENTRY } from "../../protocol/entry.ts";
import { createDefaultEngine } from "../../sdk/engine.ts";
import { DRIVER } from "../../sdk/trainer.ts";
import { ensureBundle } from "../bundle.ts";
import { loadEntry } from "../loadEntry.ts";

/**
 * The engine that trained a job, if it is another than the default one and the project's trainer has
 * it. Runs the project's code only then.
 * @param directory a job's, that of a remote artifact, or any other
 */
export async function findEngine(project: string, directory: string): Promise<Engine | undefined> {
  const name = readEngineName(
    isRemoteArtifact(directory) ? dirname(dirname(directory)) : directory,
  );
  if (name === undefined || name === createDefaultEngine().name) return undefined;
  const bundle = await ensureBundle(project, undefined, () => undefined);
  const { engine } = (await loadEntry(bundle, DEFAULT_ENTRY))[DRIVER].prepared;
  return engine.name === name ? engine : undefined;
}
