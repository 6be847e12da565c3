import { basename } from "node:path";
import { canStore } from "../../disk/windowsName.ts";
import { isRemoteArtifact } from "../../jobs/artifactFiles.ts";
import { readJobFile } from "../../jobs/jobFile.ts";
import { type Fetcher, downloadArtifact } from "../../sdk/models/artifact.ts";
import { engineOf } from "../../sdk/models/open.ts";
import type { ModelProject, SavedModel } from "../../sdk/models/reference.ts";
import { EXIT_CODE } from "../process/exitCode.ts";
import { exitCancelled, onRepeatedSignal } from "../process/signals.ts";
import { printError } from "../terminal/print.ts";

interface SavedCheckpoint {
  models: ModelProject;
  model: SavedModel;
  /** The folder of its files. */
  checkpoint: string;
  /** What an interrupted use leaves undone. */
  done: "exported" | "pushed";
}

/** Calls `use` once a model's files are here. A signal aborts both, a second one exits at once. */
export async function useCheckpoint(
  { models, model, checkpoint, done }: SavedCheckpoint,
  use: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  let engine: Fetcher | undefined;
  const abort = new AbortController();
  const { signal } = abort;
  const signalListener = onRepeatedSignal(() => abort.abort(), exitCancelled);
  try {
    if (isRemoteArtifact(checkpoint)) {
      engine = (await engineOf(models, model)) ?? {};
      const { onNote } = models;
      await downloadArtifact(engine, { directory: checkpoint, signal, onNote });
    }
    await use(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    printError(`Interrupted: nothing was ${done}.`);
    process.exitCode = EXIT_CODE.cancelled;
  } finally {
    signalListener.stop();
  }
  // The project's code, if it ran, may have left something open.
  if (engine) process.exit();
}

/** The job's name, made safe for a folder; else the checkpoint folder's name, never hidden. */
export function savedName(directory: string): string {
  const name = readJobFile(directory).file?.name ?? "";
  const allowed = name.replaceAll(/[^\p{L}\p{N}._-]+/gu, "-").replaceAll(/^[.-]+|[.-]+$/g, "");
  const found = allowed || basename(directory).replace(/^\.+/, "") || "model";
  return canStore(found) ? found : `${found}-model`;
}
