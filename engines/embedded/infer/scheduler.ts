import { setImmediate } from "node:timers/promises";
import type { Adapter } from "./adapters.ts";
import {
  type Decoder,
  type NextToken,
  type Sequence,
  type StepPart,
  MOST_SEQUENCES,
  MOST_TOKENS,
} from "./decoder.ts";

/** Reads tokens, and takes what follows them. */
export interface Reader {
  /** Of the model that reads. Default: none. */
  readonly adapter?: Adapter | undefined;
  /** What is read. It grows while an answer does. */
  readonly tokens: readonly number[];
  /** From this token on, what follows is wanted. */
  readonly wantedFrom: number;
  /** Bits of the tokens that may follow the last one, as `allowedBits` has them. Default: the decoder's. */
  allowed?: () => Int32Array | undefined;
  /**
   * Takes what follows each wanted token, in their order.
   * @returns whether it has what it wanted
   * @throws what the reading then rejects with
   */
  take: (next: NextToken) => boolean;
  /** Is asked before each step; the reading then rejects. */
  isCancelled: () => boolean;
}

export type Scheduler = ReturnType<typeof createScheduler>;

/** Tokens of prompts that a step reads while others wait for their next token, at most. */
const PROMPT_TOKENS = 64;

/** A reader in work. */
interface Run {
  reader: Reader;
  /** How many of its wanted tokens it has taken what follows of. */
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
export function createScheduler(decoder: Decoder) {
  const waiting: Run[] = [];
  /** In the order in which they came. */
  let active: Run[] = [];
  let isWorking = false;

  /** Resolves once the reader has what it wants. */
  function read(reader: Reader): Promise<void> {
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
    const found = decoder.step(parts.map(({ part }) => part));
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

  /** What the next step reads: a token of each answer, and of prompts as much as there is room for. */
  function nextParts(): { run: Run; part: StepPart }[] {
    const parts: { run: Run; part: StepPart }[] = [];
    while (active.length < MOST_SEQUENCES && waiting.length > 0) active.push(waiting.shift()!);
    const isAnswering = active.some(({ taken }) => taken > 0);
    const started = active.length;
    let left = isAnswering ? started + PROMPT_TOKENS : MOST_TOKENS;
    let leftWanted = MOST_SEQUENCES;
    for (const [i, run] of active.entries()) {
      if (left === 0 || !active.includes(run)) continue;
      const { tokens, wantedFrom, allowed, adapter } = run.reader;
      // Read again, what was taken is not wanted any more.
      const notYet = wantedFrom + run.taken;
      run.sequence ??= decoder.begin(tokens.slice(0, notYet + 1), adapter);
      const { sequence } = run;
      const from = sequence.length();
      // Each of the others may want one.
      const most = leftWanted - (started - 1 - i);
      const to = Math.min(tokens.length, from + left, Math.max(from, notYet) + most);
      if (!makeRoom(run, sequence, to - from)) continue;
      const wanted = Math.max(0, to - Math.max(from, notYet));
      const part = { sequence, tokens: tokens.slice(from, to), wanted };
      parts.push({ run, part: { ...part, ...(wanted > 0 && { allowed: allowed?.() }) } });
      left -= to - from;
      leftWanted -= wanted;
    }
    return parts;
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
