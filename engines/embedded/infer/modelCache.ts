import { realpathSync, statSync } from "node:fs";
import type { QuantizedType } from "../../../protocol/exportFormat.ts";
import { createAnswerFormats } from "../../answers/answerFormat.ts";
import { answerTokens } from "../../answers/answers.ts";
import { type SavedWeights, openWeights, tokenizerAt } from "../../checkpoint/checkpoint.ts";
import type { SavedTokenizer } from "../../checkpoint/savedTokenizer.ts";
import { weightCounts } from "../../families/tensorShapes.ts";
import { readUpdates } from "../../lora/updates.ts";
import type { PromptStyle, Tokenizer } from "../../tokens/tokenizer.ts";
import { type KernelModule, compileKernels } from "../kernels/module.ts";
import { threadCount } from "../kernels/threadCount.ts";
import type { Adapter } from "./adapters.ts";
import type { Decoder } from "./decoder.ts";
import { createFittedDecoder } from "./fittedDecoder.ts";
import type { Helpers } from "./helpers.ts";
import type { StoredModel } from "./inferThread.ts";
import { type Scheduler, createScheduler } from "./scheduler.ts";

/** A whole model in memory, which adapters may share. */
export interface Base extends SavedTokenizer {
  /** Maximum tokens of a prompt with its answer. */
  context: number;
  decoder: Decoder;
  scheduler: Scheduler;
  formatOf: ReturnType<typeof createAnswerFormats>;
}

/** A loaded model: a base, with or without an adapter. */
export interface LoadedModel {
  base: Base;
  promptStyle: PromptStyle;
  /** The base's tokenizer, with the template date of the adapter's training. */
  tokenizer: Tokenizer;
  adapter?: Adapter | undefined;
  /** Frees the adapter, and the base if no other model uses it. */
  close: () => Promise<void>;
}

/** What an adapter's checkpoint records itself, instead of its base. */
type Recorded = Pick<SavedWeights, "promptStyle" | "templateDate">;

interface RunningBase {
  base: Base;
  /** Number of models that use it. */
  users: number;
  helpers: Helpers | undefined;
}

/** With fewer parameters, one thread computes a token before a helper wakes up. */
const MIN_SHARED_PARAMETERS = 4e6;

/**
 * Loads models; adapters of one base share its weights.
 * @param startHelpers starts helper threads. Default: models answer on this thread alone
 */
export function createModelCache(startHelpers?: (count: number) => Helpers) {
  const running = new Map<string, RunningBase>();
  let kernels: KernelModule | undefined;

  /** @throws KitError `CHECKPOINT_INVALID`, `OUT_OF_MEMORY` */
  function load({ directory, quantize }: StoredModel): LoadedModel {
    const saved = openWeights(directory);
    const updates = saved.updates && readUpdates(saved.updates);
    const key = keyOf(saved.base.files, quantize);
    const runningBase =
      running.get(key) ?? start({ ...saved, weights: saved.base.weights }, quantize);
    const adapter = updates && runningBase.base.decoder.adapters.add(updates);
    if (updates && !adapter) {
      // An adapter too large to share the base is merged into its own copy.
      if (runningBase.users === 0) void runningBase.helpers?.end();
      return acquire(`${key}\0${directory}`, start(saved, quantize), saved);
    }
    return acquire(key, runningBase, { ...saved, adapter });
  }

  function acquire(
    key: string,
    runningBase: RunningBase,
    { promptStyle, templateDate, adapter }: Partial<Recorded & Pick<LoadedModel, "adapter">>,
  ): LoadedModel {
    running.set(key, runningBase);
    runningBase.users++;
    return {
      base: runningBase.base,
      adapter,
      promptStyle: promptStyle ?? runningBase.base.promptStyle,
      tokenizer: tokenizerAt(runningBase.base.tokenizer, templateDate),
      async close() {
        if (adapter) runningBase.base.decoder.adapters.remove(adapter);
        if (--runningBase.users > 0) return;
        if (running.get(key) === runningBase) running.delete(key);
        await runningBase.helpers?.end();
      },
    };
  }

  function start({ shape, weights, base }: SavedWeights, quantize?: QuantizedType): RunningBase {
    const saved = base.openTokenizer();
    kernels ??= compileKernels();
    const isShared = weightCounts(shape).numbers >= MIN_SHARED_PARAMETERS;
    const threads = isShared && startHelpers ? threadCount() : 1;
    let helpers: Helpers | undefined;
    const fitted = createFittedDecoder(kernels, shape, weights, {
      allowed: () => answerTokens(saved.tokenizer),
      threads,
      quantize,
      initWorkers(init) {
        if (threads > 1) helpers = startHelpers?.(threads - 1);
        helpers?.init(init);
      },
    });
    const decoder = helpers
      ? { ...fitted.decoder, step: exitOnError(fitted.decoder.step) }
      : fitted.decoder;
    const scheduler = createScheduler(decoder);
    const formatOf = createAnswerFormats(saved.tokenizer);
    return { base: { ...fitted, ...saved, decoder, scheduler, formatOf }, users: 0, helpers };
  }

  return { load };
}

/** Ends this thread if a step throws, because its helpers would wait at a barrier forever. */
function exitOnError(step: Decoder["step"]): Decoder["step"] {
  return (inputs) => {
    try {
      return step(inputs);
    } catch (error) {
      setImmediate(() => {
        throw error;
      });
      throw error;
    }
  };
}

/** Identifies a base by its files' paths, sizes and times of change. */
function keyOf(files: readonly string[], quantize = ""): string {
  const stamps = files.map((file) => {
    const { size, mtimeMs, ino } = statSync(file);
    return [realpathSync(file), size, mtimeMs, ino].join("\0");
  });
  return [quantize, ...stamps].join("\0");
}
