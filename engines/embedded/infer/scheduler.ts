import { setImmediate } from "node:timers/promises";
import type { Reader } from "../../answers/reader.ts";
import type { Adapter } from "./adapters.ts";
import type { Decoder, Sequence, StepInput } from "./decoder.ts";
import { MAX_SEQUENCES, MAX_TOKENS } from "./decoderPlan.ts";

/** A reader, optionally with an adapter. */
export interface ModelReader extends Reader {
  /** Default: none. */
  readonly adapter?: Adapter | undefined;
}

export type Scheduler = ReturnType<typeof createScheduler>;

/** Limits of a reader's input in a step. */
interface StepLimits {
  tokens: number;
  wanted: number;
  /** Time until which the reader may prepare, in ms of `performance.now()`. */
  until: number;
}

/** A reader in progress. */
interface Run {
  reader: ModelReader;
  /** Predictions consumed so far. */
  taken: number;
  /** Undefined while it waits for pages. */
  sequence: Sequence | undefined;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Batches readers into steps. Each reader gets the same results as alone. Readers start and end between steps.
 */
export function createScheduler(decoder: Decoder, now = () => performance.now()) {
  const promptBudget = createPromptBudget();
  const waiting: Run[] = [];
  /** Generating runs first, then those that still read prompts, each by arrival. The last is preempted first. */
  let active: Run[] = [];
  let isWorking = false;

  /** Resolves once the reader is done. */
  function read(reader: ModelReader): Promise<void> {
    return new Promise((resolve, reject) => {
      waiting.push({ reader, taken: 0, sequence: undefined, resolve, reject });
      if (!isWorking) void work();
    });
  }

  async function work(): Promise<void> {
    isWorking = true;
    // Yields, so that requests and cancellations can arrive.
    for (await setImmediate(); active.length + waiting.length > 0; await setImmediate()) {
      try {
        dropCancelled();
        step();
      } catch (error) {
        for (const run of [...active]) end(run, () => run.reject(error));
      }
    }
    isWorking = false;
  }

  function dropCancelled(): void {
    const cancelled = new Error("cancelled");
    for (const run of active.filter(({ reader }) => reader.isCancelled())) {
      end(run, () => run.reject(cancelled));
    }
    for (const run of waiting.filter(({ reader }) => reader.isCancelled())) {
      waiting.splice(waiting.indexOf(run), 1);
      run.reject(cancelled);
    }
  }

  function step(): void {
    const inputs = nextInputs();
    if (inputs.length === 0) return;
    const start = now();
    const predictions = decoder.step(inputs.map(({ input }) => input));
    const tokens = inputs.reduce((sum, { input }) => sum + input.tokens.length, 0);
    promptBudget.measure(tokens, now() - start);
    inputs.forEach(({ run }, i) => {
      try {
        for (const next of predictions[i] ?? []) {
          run.taken++;
          if (run.reader.take(next)) return end(run, run.resolve);
        }
      } catch (error) {
        end(run, () => run.reject(error));
      }
    });
  }

  /** The next step's inputs: a token of each answer, and chunks of prompts as far as capacity and time allow. */
  function nextInputs(): { run: Run; input: StepInput }[] {
    const inputs: { run: Run; input: StepInput }[] = [];
    while (active.length < MAX_SEQUENCES && waiting.length > 0) active.push(waiting.shift()!);
    const answering = active.filter(isAnswering);
    const reading = active.filter((run) => !isAnswering(run));
    active = [...answering, ...reading];
    const capacity = MAX_TOKENS - answering.length;
    let promptTokens = answering.length > 0 ? Math.min(capacity, promptBudget.tokens()) : capacity;
    let remainingWanted = MAX_SEQUENCES;
    const { length } = active;
    const until = performance.now() + PREPARE_MS;
    for (const [i, run] of active.entries()) {
      // Each remaining run may want a prediction.
      const remainingRuns = length - 1 - i;
      // Splits the budget between prompts, so that a short one never waits for a long one.
      const share = i < answering.length ? 1 : Math.ceil(promptTokens / (remainingRuns + 1));
      const input =
        share > 0
          ? inputOrEnd(run, { until, tokens: share, wanted: remainingWanted - remainingRuns })
          : undefined;
      if (!input) continue;
      inputs.push({ run, input });
      if (i >= answering.length) promptTokens -= input.tokens.length;
      remainingWanted -= input.wanted;
    }
    return inputs;
  }

  /** Ends only the reader that throws. */
  function inputOrEnd(run: Run, limits: StepLimits): StepInput | undefined {
    try {
      return inputOf(run, limits);
    } catch (error) {
      end(run, () => run.reject(error));
      return undefined;
    }
  }

  /** @returns undefined if the reader is preempted, or not yet prepared */
  function inputOf(run: Run, limits: StepLimits): StepInput | undefined {
    if (!active.includes(run)) return undefined;
    const { tokens, logitsFrom, prepare, allowed, adapter, onCached } = run.reader;
    // After preemption, consumed predictions are not repeated.
    const firstWanted = logitsFrom + run.taken;
    if (!run.sequence) {
      run.sequence = decoder.begin(tokens.slice(0, firstWanted + 1), adapter);
      onCached?.(run.sequence.length());
    }
    const { sequence } = run;
    const from = sequence.length();
    const to = Math.min(
      tokens.length,
      from + limits.tokens,
      Math.max(from, firstWanted) + limits.wanted,
    );
    const wanted = Math.max(0, to - Math.max(from, firstWanted));
    if (wanted > 0 && prepare?.(limits.until) === false) return undefined;
    if (!growOrPreempt(run, sequence, to - from)) return undefined;
    const input = { sequence, tokens: tokens.slice(from, to), wanted };
    return { ...input, ...(wanted > 0 && { allowed: allowed?.() }) };
  }

  /** Preempts the runs that came last until there are enough pages. They read their tokens again later. */
  function growOrPreempt(run: Run, sequence: Sequence, tokens: number): boolean {
    while (!sequence.grow(tokens)) {
      const last = active.at(-1)!;
      last.sequence?.close();
      last.sequence = undefined;
      active = active.slice(0, -1);
      waiting.unshift(last);
      if (last === run) return false;
    }
    return true;
  }

  function end(run: Run, settle: () => void): void {
    run.sequence?.close();
    active = active.filter((other) => other !== run);
    settle();
  }

  return { read };
}

/** Whether a run is generating, with only the last sampled token unread. */
function isAnswering({ reader, sequence, taken }: Run): boolean {
  return taken > 0 && sequence !== undefined && reader.tokens.length - sequence.length() === 1;
}

/** How long a step may read prompts while others wait for a token, in ms. */
const PROMPT_MS = 70;
/** How long readers may prepare their masks between two steps, all together, in ms. */
const PREPARE_MS = 30;
/** Initial and minimum prompt tokens per step: rows for which a product reads the weights once. */
const MIN_PROMPT_TOKENS = 8;

/** Measures how many prompt tokens fit in `PROMPT_MS`. */
function createPromptBudget() {
  let tokenMs = PROMPT_MS / MIN_PROMPT_TOKENS;
  return {
    tokens: () => Math.max(MIN_PROMPT_TOKENS, Math.floor(PROMPT_MS / tokenMs)),
    measure(tokens: number, ms: number): void {
      // With fewer tokens, most of the time goes into reading the weights.
      if (tokens >= MIN_PROMPT_TOKENS) tokenMs = ms / tokens;
    },
  };
}
