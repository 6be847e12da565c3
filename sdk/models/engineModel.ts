import { setMaxListeners } from "node:events";
import type { EngineModel, LoadedModel } from "../../protocol/engine.ts";
import { asInferDelta, asInferResult } from "../../protocol/engineReport.ts";
import { messageOf } from "../../protocol/error.ts";
import type { InferDelta, InferRequest, InferResult } from "../../protocol/infer.ts";
import { withCallerStack, orStuck } from "../projectCode.ts";
import { checkRequest } from "../validation/inferRequest.ts";
import { streamAnswer } from "./answerStream.ts";

/** A model for users that also streams deltas to Kit. */
export type GuardedModel = EngineModel & Pick<LoadedModel, "stream">;

/**
 * A model that an engine has loaded, with requests and answers checked at the boundary.
 * @param engine the engine's name
 * @param end aborts the open requests
 */
export function guardModel(engine: string, model: EngineModel, end?: AbortSignal): GuardedModel {
  const infer: EngineModel["infer"] = (request, onDelta) =>
    withCallerStack(infer, () => answer(request, { onDelta }));
  const stream: LoadedModel["stream"] = (request) =>
    streamAnswer((onDelta, signal) =>
      withCallerStack(stream, () => answer(request, { onDelta, signal })),
    );

  async function answer(request: InferRequest, { onDelta, signal }: Output): Promise<InferResult> {
    const checked = await checkRequest(request);
    const invalidDelta = new AbortController();
    const all = [checked.signal, signal, end, ...(onDelta ? [invalidDelta.signal] : [])];
    const signals = all.filter((source) => source !== undefined);
    const combined = signals.length > 0 ? anySignal(signals) : undefined;
    const passDelta = (delta: InferDelta) => {
      if (combined?.signal.aborted) return;
      try {
        onDelta?.(asInferDelta(engine, delta));
      } catch (error) {
        invalidDelta.abort(error);
      }
    };
    const guarded = { ...checked, ...(combined && { signal: combined.signal }) };
    try {
      return asInferResult(engine, await model.infer(guarded, onDelta && passDelta));
    } finally {
      combined?.release();
    }
  }

  const check = model.check && {
    check: async (request: InferRequest) => model.check?.(await checkRequest(request)),
  };
  return { infer, stream, ...check, close: model.close };
}

/** Where to pass deltas, and the signal that stops the answer. */
interface Output {
  onDelta?: ((delta: InferDelta) => void) | undefined;
  signal?: AbortSignal;
}

/** Like `AbortSignal.any()`, whose signals Node 22 keeps in memory as long as their sources (nodejs/node #54614). */
function anySignal(sources: readonly AbortSignal[]) {
  const controller = new AbortController();
  const abort = () => controller.abort(sources.find(({ aborted }) => aborted)?.reason);
  for (const source of sources) {
    // Node 20 warns of more than ten, and many requests may share a signal.
    setMaxListeners(0, source);
    source.addEventListener("abort", abort);
  }
  if (sources.some(({ aborted }) => aborted)) abort();
  return {
    signal: controller.signal,
    release: () => sources.forEach((source) => source.removeEventListener("abort", abort)),
  };
}

/**
 * Frees a model's memory. Only notes a failure, because the answers are valid.
 * @param engine the engine's name for notes, or `of <model>`
 */
export async function closeModel(
  model: Pick<EngineModel, "close">,
  engine: string,
  onNote?: (text: string) => void,
): Promise<void> {
  try {
    await orStuck(model.close(), () => new Error("it never returned"));
  } catch (error) {
    onNote?.(`warning: the engine ${engine} failed to close a model: ${messageOf(error)}`);
  }
}

/** A model that loads on its first request, and again after `close`. @param engine as for `closeModel` */
export function lazyModel(
  engine: string,
  load: () => Promise<EngineModel>,
  onNote?: (text: string) => void,
): Pick<EngineModel, "infer" | "close"> {
  let loading: Promise<EngineModel> | undefined;
  return {
    infer: async (request, onDelta) => (await (loading ??= load())).infer(request, onDelta),
    async close() {
      const last = loading;
      loading = undefined;
      const model = await last?.catch(() => undefined);
      if (model) await closeModel(model, engine, onNote);
    },
  };
}
