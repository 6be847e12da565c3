import type { EngineModel, LoadedModel } from "../../protocol/engine.ts";
import { asInferPiece, asInferResult } from "../../protocol/engineReport.ts";
import { messageOf } from "../../protocol/error.ts";
import type { InferPiece, InferRequest, InferResult } from "../../protocol/infer.ts";
import { firstSignal } from "../firstSignal.ts";
import { atCaller, untilIdle } from "../projectCode.ts";
import { checkRequest } from "../validation/inferRequest.ts";
import { streamAnswer } from "./answerStream.ts";

/** A model for users, which also tells Kit an answer's parts. */
export type GuardedModel = EngineModel & Pick<LoadedModel, "stream">;

/**
 * A model that an engine has loaded, with requests and answers checked at the boundary.
 * @param engine the engine's name
 */
export function guardModel(engine: string, model: EngineModel): GuardedModel {
  const infer: EngineModel["infer"] = (request, onPiece) =>
    atCaller(infer, () => (onPiece ? tell(request, onPiece) : answer(request)));
  const stream: LoadedModel["stream"] = (request) =>
    streamAnswer((onPiece, signal) => atCaller(stream, () => tell(request, onPiece, signal)));

  async function answer(request: InferRequest): Promise<InferResult> {
    return asInferResult(engine, await model.infer(await checkRequest(request)));
  }

  async function tell(
    request: InferRequest,
    onPiece: (piece: InferPiece) => void,
    signal?: AbortSignal,
  ): Promise<InferResult> {
    const checked = await checkRequest(request);
    const refused = new AbortController();
    const signals = [checked.signal, signal, refused.signal].filter((one) => one !== undefined);
    const first = firstSignal(signals);
    const take = (piece: InferPiece) => {
      if (first.signal.aborted) return;
      try {
        onPiece(asInferPiece(engine, piece));
      } catch (error) {
        refused.abort(error);
      }
    };
    try {
      return asInferResult(engine, await model.infer({ ...checked, signal: first.signal }, take));
    } finally {
      first.release();
    }
  }

  const check = model.check && {
    check: async (request: InferRequest) => model.check?.(await checkRequest(request)),
  };
  return { infer, stream, ...check, close: model.close };
}

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
