import { join } from "node:path";
import type { Engine, LoadOptions } from "../../protocol/engine.ts";
import type { Artifact } from "../../protocol/event.ts";
import type { Infer } from "../callbacks.ts";
import { guardModel, lazyModel } from "../models/engineModel.ts";

/** Inference from a job's checkpoints, each loaded on its first request. */
export interface Checkpoints {
  /** `close` frees the memory after the open requests; a later request reloads the checkpoint. */
  open: (artifact: Pick<Artifact, "path">) => { infer: Infer; close: () => Promise<void> };
  close: () => Promise<void>;
}

/** @param options `signal` aborts open requests when the job ends early */
export function createCheckpoints(
  engine: Pick<Engine, "name" | "load">,
  directory: string,
  options: LoadOptions & { signal: AbortSignal },
): Checkpoints {
  const { signal, onNote } = options;
  const opened: ReturnType<typeof lazyModel>[] = [];
  return {
    open({ path }) {
      const load = () => engine.load(join(directory, path), options);
      const model = lazyModel(engine.name, load, onNote);
      opened.push(model);
      return guardModel(engine.name, model, signal);
    },
    async close() {
      await Promise.all(opened.map((model) => model.close()));
    },
  };
}
