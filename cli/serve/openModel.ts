import type { Engine, EngineModel } from "../../protocol/engine.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";
import { withStartingModel } from "../../sdk/engine.ts";
import { loadGuarded } from "../../sdk/loadModel.ts";
import type { ServedModel } from "../../server/serve/shelf.ts";
import { AT_ONCE } from "../infer/answerLines.ts";
import { findEngine } from "../infer/findEngine.ts";
import { loadBy } from "../infer/loadAnswering.ts";
import type { ModelSource } from "./namedModels.ts";

/** Serves a job's folder, a checkpoint or a model's folder. */
export async function openFolder(
  source: ModelSource,
  directory: string,
  { id, created = now() }: { id: string; created?: number },
): Promise<ServedModel> {
  const engine = source.engine ?? (await findEngine(source.project, directory));
  const open = () => load(source, directory, engine);
  return { id, created, atOnce: atOnce(source, engine), open };
}

/** Serves the model that a training with this config starts from, by the default engine unless another is asked for. */
export function openStarting(source: ModelSource, id: string, config: JobConfig): ServedModel {
  const { onNote, options } = source;
  const open = () =>
    withStartingModel(config, { ...options, onNote }, (directory) =>
      load(source, directory, source.engine),
    );
  return { id, created: now(), atOnce: atOnce(source, undefined), open };
}

/** The one place where a model to serve is loaded. */
function load(
  { project, options, onNote }: ModelSource,
  directory: string,
  engine: Engine | undefined,
): Promise<EngineModel> {
  const all = { ...options, onNote, ...(engine && { engine }) };
  return loadBy(loadGuarded, project, directory, all);
}

/** An engine of the project's answers one after another. */
function atOnce(source: ModelSource, engine: Engine | undefined): number {
  return engine && !source.engine ? 1 : AT_ONCE;
}

/** Unix time, in seconds. */
function now(): number {
  return Math.floor(Date.now() / 1000);
}
