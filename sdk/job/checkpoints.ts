import { join } from "node:path";
import type { Engine, EngineModel, LoadOptions } from "../../protocol/engine.ts";
import type { Artifact } from "../../protocol/event.ts";
import type { Infer } from "../callbacks.ts";
import { firstSignal } from "../firstSignal.ts";
import { closeModel, guardModel } from "../models/engineModel.ts";

/** Answers from a job's checkpoints. Each is loaded on its first request. */
export interface Checkpoints {
  /** `close` frees the memory after the requests so far; another request reloads the checkpoint. */
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
  const loaded = new Set<Promise<EngineModel>>();

  async function free(model: Promise<EngineModel>): Promise<void> {
    if (!loaded.delete(model)) return;
    const [result] = await Promise.allSettled([model]);
    if (result.status === "fulfilled") await closeModel(result.value, engine.name, onNote);
  }

  return {
    open({ path }) {
      let model: Promise<EngineModel> | undefined;
      return guardModel(engine.name, {
        async infer(request, onPiece) {
          if (!model) {
            model = engine.load(join(directory, path), options);
            loaded.add(model);
          }
          const { infer: answer } = await model;
          const first = firstSignal(request.signal ? [request.signal, signal] : [signal]);
          try {
            return await answer({ ...request, signal: first.signal }, onPiece);
          } finally {
            first.release();
          }
        },
        async close() {
          const last = model;
          model = undefined;
          if (last) await free(last);
        },
      });
    },
    async close() {
      await Promise.all([...loaded].map(free));
    },
  };
}
