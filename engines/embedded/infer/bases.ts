import { realpathSync, statSync } from "node:fs";
import type { QuantizedType } from "../../../protocol/exportFormat.ts";
import { answerTokens } from "../../answers/answers.ts";
import { createAskedForms } from "../../answers/askedForm.ts";
import { type SavedWeights, openWeights, tokenizerAt } from "../../checkpoint/checkpoint.ts";
import type { SavedTokenizer } from "../../checkpoint/savedTokenizer.ts";
import { weightCounts } from "../../families/tensorShapes.ts";
import { readUpdates } from "../../lora/merged.ts";
import type { PromptStyle, Tokenizer } from "../../tokens/tokenizer.ts";
import { type KernelModule, compileKernels } from "../kernels/module.ts";
import { threadCount } from "../kernels/threadCount.ts";
import type { Adapter } from "./adapters.ts";
import type { Decoder } from "./decoder.ts";
import { fittedDecoder } from "./fittedDecoder.ts";
import type { Helpers } from "./helpers.ts";
import type { StoredModel } from "./inferThread.ts";
import { type Scheduler, createScheduler } from "./scheduler.ts";

/** Weights in memory. They answer with or without any of their adapters. */
export interface Base extends SavedTokenizer {
  /** Longest prompt with its answer, in tokens. */
  context: number;
  decoder: Decoder;
  scheduler: Scheduler;
  formOf: ReturnType<typeof createAskedForms>;
}

/** A model that is loaded: a base, with or without an adapter. */
export interface Loaded {
  base: Base;
  promptStyle: PromptStyle;
  /** The base's, of the time at which an adapter was trained. */
  tokenizer: Tokenizer;
  adapter?: Adapter | undefined;
  /** Frees what no other model needs. */
  close: () => Promise<void>;
}

/** What a checkpoint names, whatever its base does. */
type Named = Pick<SavedWeights, "promptStyle" | "templateDate">;

interface Started {
  base: Base;
  /** Models that need it, a count. */
  users: number;
  helpers: Helpers | undefined;
}

/** With fewer weights, a token is done before a helper thread wakes up. */
const LEAST_SHARED_NUMBERS = 4e6;

/**
 * Loads models; those that are adapters of one base share its weights.
 * @param startHelpers starts so many helper threads. Default: models answer on this thread alone
 */
export function createBases(startHelpers?: (count: number) => Helpers) {
  const started = new Map<string, Started>();
  let kernels: KernelModule | undefined;

  /** @throws KitError `CHECKPOINT_INVALID`, `OUT_OF_MEMORY` */
  function load({ directory, quantize }: StoredModel): Loaded {
    const saved = openWeights(directory);
    const updates = saved.updates && readUpdates(saved.updates);
    const key = keyOf(saved.base.files, quantize);
    const found = started.get(key) ?? start({ ...saved, weights: saved.base.weights }, quantize);
    const adapter = updates && found.base.decoder.adapters.add(updates);
    if (updates && !adapter) {
      // An adapter too large for that is merged into its own copy of the weights.
      if (found.users === 0) void found.helpers?.end();
      return use(`${key}\0${directory}`, start(saved, quantize), saved);
    }
    return use(key, found, { ...saved, adapter });
  }

  function use(
    key: string,
    found: Started,
    { promptStyle, templateDate, adapter }: Partial<Named & Pick<Loaded, "adapter">>,
  ): Loaded {
    started.set(key, found);
    found.users++;
    return {
      ...{ base: found.base, adapter, promptStyle: promptStyle ?? found.base.promptStyle },
      tokenizer: tokenizerAt(found.base.tokenizer, templateDate),
      async close() {
        if (adapter) found.base.decoder.adapters.remove(adapter);
        if (--found.users > 0) return;
        if (started.get(key) === found) started.delete(key);
        await found.helpers?.end();
      },
    };
  }

  function start({ shape, weights, base }: SavedWeights, quantize?: QuantizedType): Started {
    const tokens = base.openTokenizer();
    kernels ??= compileKernels();
    const isShared = weightCounts(shape).numbers >= LEAST_SHARED_NUMBERS;
    const threads = isShared && startHelpers ? threadCount() : 1;
    let helpers: Helpers | undefined;
    const fitted = fittedDecoder(kernels, shape, weights, {
      ...{ allowed: () => answerTokens(tokens.tokenizer), threads, quantize },
      invite(invitation) {
        if (threads > 1) helpers = startHelpers?.(threads - 1);
        helpers?.invite(invitation);
      },
    });
    const decoder = helpers
      ? { ...fitted.decoder, step: orEnd(fitted.decoder.step) }
      : fitted.decoder;
    const scheduler = createScheduler(decoder);
    const formOf = createAskedForms(tokens.tokenizer);
    return { base: { ...fitted, ...tokens, decoder, scheduler, formOf }, users: 0, helpers };
  }

  return { load };
}

/** Ends this thread when a step throws: the helpers wait for it in the midst of one, so no other step would end. */
function orEnd(step: Decoder["step"]): Decoder["step"] {
  return (parts) => {
    try {
      return step(parts);
    } catch (error) {
      setImmediate(() => {
        throw error;
      });
      throw error;
    }
  };
}

/** Identifies a base by its files; changed files make another base. */
function keyOf(files: readonly string[], quantize = ""): string {
  const stamps = files.map((file) => {
    const { size, mtimeMs, ino } = statSync(file);
    return [realpathSync(file), size, mtimeMs, ino].join("\0");
  });
  return [quantize, ...stamps].join("\0");
}
