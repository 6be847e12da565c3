import { dirname, join } from "node:path";
import type { EngineModel, LoadOptions } from "../../protocol/engine.ts";
import type { LlamaOptions } from "../../protocol/engineOptions.ts";
import { KitError, messageOf } from "../../protocol/error.ts";
import type { InferDelta, InferRequest, InferResult } from "../../protocol/infer.ts";
import { answerTokens, createAnswers } from "../answers/answers.ts";
import { modelClosed } from "../answers/modelHost.ts";
import { openCheckpoint } from "../checkpoint/checkpoint.ts";
import { isModelFile } from "../checkpoint/ggufModel.ts";
import { trainedBaseType } from "../checkpoint/trainerState.ts";
import { threadCount } from "../embedded/kernels/threadCount.ts";
import { fetchBase, isAdapter } from "../lora/base.ts";
import { cachedGguf, isCachedGguf } from "./ggufCopy.ts";
import { type Llama, type LlamaModel, startLlama } from "./nodeLlama.ts";
import { createSequencePool } from "./sequences.ts";

/** Weights in memory, shared by models. */
interface Base {
  model: Promise<LlamaModel>;
  users: number;
}

/** Maximum concurrent answers of a model. */
const MAX_SEQUENCES = 8;
/** Maximum KV cache of a model. */
const CACHE_BYTES = 2 ** 30;

/** Loads models through llama.cpp; adapters of the same base share its weights. */
export function createLlamaModels({ type }: LlamaOptions, project: string) {
  let llama: Promise<Llama> | undefined;
  const bases = new Map<string, Base>();

  async function load(directory: string, options: LoadOptions = {}): Promise<EngineModel> {
    await fetchBase(directory, options);
    const { base, shape, tokenizer, promptStyle } = openCheckpoint(directory);
    // Started first: if llama.cpp is missing, no file is converted.
    llama ??= startLlama(project, threadCount());
    await llama.catch((error: unknown) => {
      llama = undefined;
      throw error;
    });
    const ggufFiles = await filesOf(directory, base.directory, options);
    const { context: maxContext, vocabulary } = shape;
    const tokenBytes = 4 * shape.layers * shape.kvHeads * shape.headDim;
    const fittingSequences = Math.floor(CACHE_BYTES / (maxContext * tokenBytes));
    const count = Math.max(1, Math.min(MAX_SEQUENCES, fittingSequences));
    const weights = await acquireWeights(ggufFiles.base);
    try {
      const llamaContext = await weights.model.createContext({
        sequences: count,
        contextSize: { min: Math.min(maxContext, 256), max: maxContext },
        ...(ggufFiles.lora && { lora: { adapters: [{ filePath: ggufFiles.lora }] } }),
      });
      const sequences = Array.from({ length: count }, () => llamaContext.getSequence());
      const context = Math.min(maxContext, ...sequences.map(({ contextSize }) => contextSize));
      const answerBits = answerTokens(tokenizer);
      const { read } = createSequencePool({ sequences, vocabulary, answerBits });
      const { answer } = createAnswers({ context, promptStyle, tokenizer, read });
      return openModel(answer, async () => {
        await llamaContext.dispose();
        await weights.release();
      });
    } catch (cause) {
      await weights.release();
      throw cannotLoad(ggufFiles.lora ?? ggufFiles.base, cause);
    }
  }

  /** @throws KitError `OPTION_INVALID` for a type with a GGUF file */
  async function filesOf(directory: string, model: string | undefined, options: LoadOptions) {
    const requested = options.quantize ?? type ?? trainedBaseType(directory);
    if (isModelFile(directory)) {
      if (requested === undefined) return { base: directory };
      throw new KitError(
        "OPTION_INVALID",
        `${directory} is a GGUF file, which llama() loads as it is. Remove the type, or pass the model's folder.`,
      );
    }
    const base = await cachedGguf({ directory: model ?? directory, type: requested }, options);
    if (!isAdapter(directory)) return { base };
    return { base, lora: await cachedGguf({ directory, adapterOnly: true }, options) };
  }

  async function acquireWeights(file: string) {
    const started = await (llama ??= startLlama(project, threadCount()));
    const key = join(file);
    const base = bases.get(key) ?? { model: started.loadModel({ modelPath: file }), users: 0 };
    bases.set(key, base);
    base.users++;
    async function release(): Promise<void> {
      if (--base.users > 0) return;
      bases.delete(key);
      await (await base.model.catch(() => undefined))?.dispose();
      if (bases.size > 0) return;
      llama = undefined;
      await started.dispose();
    }
    try {
      return { model: await base.model, release };
    } catch (cause) {
      await release();
      throw cannotLoad(file, cause);
    }
  }

  return { load };
}

function cannotLoad(file: string, cause: unknown): KitError {
  if ((cause as Error | undefined)?.constructor.name === "InsufficientMemoryError") {
    return new KitError(
      "OUT_OF_MEMORY",
      `llama.cpp has too little memory for ${file} (${messageOf(cause)}). Use a smaller type, such as q8_0, or end other programs.`,
      { cause },
    );
  }
  const advice = isCachedGguf(file)
    ? `Delete ${dirname(file)}, and load the model again`
    : "Export the model again, or use the embedded engine";
  return new KitError(
    "CHECKPOINT_INVALID",
    `llama.cpp cannot load ${file} (${messageOf(cause)}). ${advice}.`,
    { cause },
  );
}

type Answer = ReturnType<typeof createAnswers>["answer"];

/** @param dispose called once all answers have ended */
function openModel(answer: Answer, dispose: () => Promise<void>): EngineModel {
  const open = new Set<Promise<InferResult>>();
  let closing: Promise<void> | undefined;

  async function infer(
    { signal, ...request }: InferRequest,
    onDelta?: (delta: InferDelta) => void,
  ): Promise<InferResult> {
    signal?.throwIfAborted();
    if (closing) throw modelClosed();
    const isCancelled = () => signal?.aborted === true;
    const answering = answer(request, {
      isCancelled,
      onDelta: onDelta && ((delta) => !isCancelled() && onDelta(delta)),
    });
    open.add(answering);
    try {
      return await orAborted(answering, signal);
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      void answering.catch(() => undefined).finally(() => open.delete(answering));
    }
  }

  async function check(request: InferRequest): Promise<void> {
    await infer({ ...request, maxTokens: 0 });
  }

  const close = () => (closing ??= Promise.allSettled(open).then(dispose));
  return { infer, check, close };
}

/** Rejects at once when aborted; llama.cpp still finishes its step. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
