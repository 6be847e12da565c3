import { realpathSync, statSync } from "node:fs";
import { Worker } from "node:worker_threads";
import type { QuantizedType } from "../../../protocol/quantizedType.ts";
import { answerTokens } from "../../answers/answers.ts";
import { createAskedForms } from "../../answers/askedForm.ts";
import { type SavedWeights, openWeights, tokenizerAt } from "../../checkpoint/checkpoint.ts";
import type { SavedTokenizer } from "../../checkpoint/savedTokenizer.ts";
import { weightCounts } from "../../families/randomWeights.ts";
import type { PromptStyle, Tokenizer } from "../../tokens/tokenizer.ts";
import { type KernelModule, compileKernels } from "../kernels/module.ts";
import { threadCount } from "../kernels/threadCount.ts";
import { startThread } from "../messages.ts";
import type { Adapter } from "./adapters.ts";
import type { Decoder, DecoderInvitation } from "./decoder.ts";
import { fittedDecoder } from "./fittedDecoder.ts";
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
  helpers: Worker[];
}

/** With fewer weights, a token is done before a helper thread wakes up. */
const LEAST_SHARED_NUMBERS = 4e6;

/** Loads models; those that are adapters of one base share its weights. */
export function createBases() {
  const started = new Map<string, Started>();
  let kernels: KernelModule | undefined;

  /** @throws KitError `CHECKPOINT_INVALID`, `OUT_OF_MEMORY` */
  function load({ directory, quantize }: StoredModel): Loaded {
    const saved = openWeights(directory);
    const updates = saved.updates?.();
    const key = keyOf(saved.base.files, quantize);
    const found = started.get(key) ?? start({ ...saved, weights: saved.base.weights }, quantize);
    const adapter = updates && found.base.decoder.adapters.add(updates);
    if (updates && !adapter) {
      // An adapter too large for that is merged into its own copy of the weights.
      if (found.users === 0) void end(found);
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
        await end(found);
      },
    };
  }

  function start({ shape, weights, base }: SavedWeights, quantize?: QuantizedType): Started {
    const tokens = base.openTokenizer();
    kernels ??= compileKernels();
    const isShared = weightCounts(shape).numbers >= LEAST_SHARED_NUMBERS;
    const threads = isShared ? threadCount() : 1;
    const helpers: Worker[] = [];
    const fitted = fittedDecoder(kernels, shape, weights, {
      ...{ allowed: answerTokens(tokens.tokenizer), threads, quantize },
      invite(invitation) {
        for (let i = 1; i < threads; i++) helpers.push(startHelper(invitation));
      },
    });
    const scheduler = createScheduler(fitted.decoder);
    const formOf = createAskedForms(tokens.tokenizer);
    return { base: { ...fitted, ...tokens, scheduler, formOf }, users: 0, helpers };
  }

  return { load };
}

async function end({ helpers }: Started): Promise<void> {
  await Promise.all(helpers.map((helper) => helper.terminate()));
}

/** Identifies a base by its files; changed files make another base. */
function keyOf(files: readonly string[], quantize = ""): string {
  const stamps = files.map((file) => {
    const { size, mtimeMs, ino } = statSync(file);
    return [realpathSync(file), size, mtimeMs, ino].join("\0");
  });
  return [quantize, ...stamps].join("\0");
}

/** A helper thread; it joins at the next step. */
function startHelper(invitation: DecoderInvitation): Worker {
  const helper = startThread(
    () => new Worker(new URL("./decoderWorker.js", import.meta.url), { execArgv: [] }),
    "answers",
    "Set KIT_THREADS=1 to answer without helpers, end other programs",
  );
  // If it fails to start, e.g. because a bundle lacks its file, the other threads answer alone.
  helper.on("error", () => undefined);
  helper.postMessage(invitation);
  helper.unref();
  return helper;
}
