import { setImmediate } from "node:timers/promises";
import type { Reader } from "../../answers/reader.ts";
import type { Adapter } from "./adapters.ts";
import type { Decoder, Sequence, StepPart } from "./decoder.ts";
import { MOST_SEQUENCES, MOST_TOKENS } from "./decoderPlan.ts";

/** A reader of the base or, with an adapter, of another model. */
export interface ModelReader extends Reader {
  /** Default: none. */
  readonly adapter?: Adapter | undefined;
}

export type Scheduler = ReturnType<typeof createScheduler>;

/** Limits of what a reader takes of a step, and when that begins at the latest. */
interface Most {
  tokens: number;
  wanted: number;
  until: number;
}

/** A reader in work. */
interface Run {
  reader: ModelReader;
  /** Wanted tokens it has taken predictions of, a count. */
  taken: number;
  /** Undefined while it waits for room. */
  sequence: Sequence | undefined;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Lets readers read, as many at once as a step takes; each takes what it takes alone. Between two steps, readers
 * come and go.
 */
export function createScheduler(decoder: Decoder, now = () => performance.now()) {
  const pace = createPace();
  const waiting: Run[] = [];
  /** Answers first, then prompts, by arrival. The last gives up its room first. */
  let active: Run[] = [];
  let isWorking = false;

  /** Resolves once the reader has what it wants. */
  function read(reader: ModelReader): Promise<void> {
    return new Promise((resolve, reject) => {
      waiting.push({ reader, taken: 0, sequence: undefined, resolve, reject });
      if (!isWorking) void work();
    });
  }

  async function work(): Promise<void> {
    isWorking = true;
    // Lets messages in: more requests, and those that cancel some.
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
    const parts = nextParts();
    if (parts.length === 0) return;
    const start = now();
    const found = decoder.step(parts.map(({ part }) => part));
    const tokens = parts.reduce((sum, { part }) => sum + part.tokens.length, 0);
    pace.measure(tokens, now() - start);
    parts.forEach(({ run }, i) => {
      try {
        for (const next of found[i] ?? []) {
          run.taken++;
          if (run.reader.take(next)) return end(run, run.resolve);
        }
      } catch (error) {
        end(run, () => run.reject(error));
      }
    });
  }

  /** What the next step reads: a token of each answer, and of prompts as much as there is room and time for. */
  function nextParts(): { run: Run; part: StepPart }[] {
    const parts: { run: Run; part: StepPart }[] = [];
    while (active.length < MOST_SEQUENCES && waiting.length > 0) active.push(waiting.shift()!);
    const answering = active.filter(isAnswering);
    const reading = active.filter((run) => !isAnswering(run));
    active = [...answering, ...reading];
    const room = MOST_TOKENS - answering.length;
    let left = answering.length > 0 ? Math.min(room, pace.tokens()) : room;
    let leftWanted = MOST_SEQUENCES;
    const { length } = active;
    const until = performance.now() + PREPARE_MS;
    for (const [i, run] of active.entries()) {
      // Each of the others may want one.
      const others = length - 1 - i;
      // Prompts are read side by side, so that a short one never waits for a long one.
      const share = i < answering.length ? 1 : Math.ceil(left / (others + 1));
      const part =
        share > 0
          ? partOrEnd(run, { until, tokens: share, wanted: leftWanted - others })
          : undefined;
      if (!part) continue;
      parts.push({ run, part });
      if (i >= answering.length) left -= part.tokens.length;
      leftWanted -= part.wanted;
    }
    return parts;
  }

  /** A reader that throws ends only its own reading. */
  function partOrEnd(run: Run, most: Most): StepPart | undefined {
    try {
      return partOf(run, most);
    } catch (error) {
      end(run, () => run.reject(error));
      return undefined;
    }
  }

  /** @returns undefined if it gave its room to another, or there is none, or what it may have next is not known */
  function partOf(run: Run, most: Most): StepPart | undefined {
    if (!active.includes(run)) return undefined;
    const { tokens, wantedFrom, prepare, allowed, adapter } = run.reader;
    // When it reads again, what it has taken is not wanted twice.
    const notYet = wantedFrom + run.taken;
    run.sequence ??= decoder.begin(tokens.slice(0, notYet + 1), adapter);
    const { sequence } = run;
    const from = sequence.length();
    const to = Math.min(tokens.length, from + most.tokens, Math.max(from, notYet) + most.wanted);
    const wanted = Math.max(0, to - Math.max(from, notYet));
    if (wanted > 0 && prepare?.(most.until) === false) return undefined;
    if (!makeRoom(run, sequence, to - from)) return undefined;
    const part = { sequence, tokens: tokens.slice(from, to), wanted };
    return { ...part, ...(wanted > 0 && { allowed: allowed?.() }) };
  }

  /** Takes room from those that came last, which read their tokens again when there is some. */
  function makeRoom(run: Run, sequence: Sequence, tokens: number): boolean {
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

/** Whether it is answering: it reads only the token chosen last. */
function isAnswering({ reader, sequence, taken }: Run): boolean {
  return taken > 0 && sequence !== undefined && reader.tokens.length - sequence.length() === 1;
}

/** How long a step may read prompts while others wait for their next token, in ms. */
const PROMPT_MS = 70;
/** How long what answers may have next is worked at between two steps, all answers together, in ms. */
const PREPARE_MS = 30;
/** Before it is known how long a token takes, and at least: as many rows as a product reads weights once for. */
const FEW_TOKENS = 8;

/** Measures how many tokens of prompts a step reads in `PROMPT_MS`. */
function createPace() {
  let tokenMs = PROMPT_MS / FEW_TOKENS;
  return {
    tokens: () => Math.max(FEW_TOKENS, Math.floor(PROMPT_MS / tokenMs)),
    measure(tokens: number, ms: number): void {
      // With fewer, reading the weights costs more than the tokens themselves.
      if (tokens >= FEW_TOKENS) tokenMs = ms / tokens;
    },
  };
}
