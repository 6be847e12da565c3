import type { EngineModel } from "../../protocol/engine.ts";
import { messageOf } from "../../protocol/error.ts";
import { untilIdle } from "./untilIdle.ts";

/**
 * Frees a model's memory. Its answers stand, so that it can't be closed is only told.
 * @param engine its name, or whose it is
 */
export async function closeModel(
  model: Pick<EngineModel, "close">,
  engine: string,
  onNote?: (text: string) => void,
): Promise<void> {
  try {
    await untilIdle(model.close(), () => new Error("it never returned"));
  } catch (error) {
    onNote?.(`warning: the engine ${engine} failed to close a model: ${messageOf(error)}`);
  }
}

/** Loads a model at its first question, and closes it. @param engine as of `closeModel` */
export async function withModel<Model extends Pick<EngineModel, "close">, T>(
  engine: string,
  load: () => Promise<Model>,
  use: (model: () => Promise<Model>) => Promise<T>,
  onNote?: (text: string) => void,
): Promise<T> {
  let loading: Promise<Model> | undefined;
  try {
    return await use(() => (loading ??= load()));
  } finally {
    await loading?.then(
      (model) => closeModel(model, engine, onNote),
      () => undefined,
    );
  }
}
