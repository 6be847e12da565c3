import type { Reader } from "../embedded/infer/scheduler.ts";
import { nextTokenOf } from "./nextToken.ts";
import type { LlamaSequence } from "./nodeLlama.ts";

interface Sequences {
  sequences: readonly LlamaSequence[];
  vocabulary: number;
  /** Bits of the tokens that an answer may have. */
  spoken: Int32Array;
}

/** Tokens of a prompt that are read before it is looked whether anybody still waits. */
const BLOCK = 256;
const WANTED = { generateNext: { logits: true } };

/** Lets readers read, as many at once as there are sequences. Each goes on from what a sequence has of it. */
export function createReading({ sequences, vocabulary, spoken }: Sequences) {
  const free = [...sequences];
  const waiting: (() => void)[] = [];

  /** Resolves once the reader has what it wants. */
  async function read(reader: Reader): Promise<void> {
    while (free.length === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    const lengths = free.map((one) => commonLength(one.contextTokens, reader.tokens));
    const [sequence] = free.splice(lengths.indexOf(Math.max(...lengths)), 1) as [LlamaSequence];
    try {
      await readOn(sequence, reader);
    } finally {
      free.push(sequence);
      waiting.shift()?.();
    }
  }

  async function readOn(sequence: LlamaSequence, reader: Reader): Promise<void> {
    const { tokens, wantedFrom, take, allowed, isCancelled } = reader;
    let at = Math.min(commonLength(sequence.contextTokens, tokens), wantedFrom, tokens.length - 1);
    const { length } = sequence.contextTokens;
    if (length > at) await sequence.eraseContextTokenRanges([{ start: at, end: length }]);
    for (;;) {
      if (isCancelled()) throw new Error("cancelled");
      if (at < wantedFrom) {
        const to = Math.min(wantedFrom, at + BLOCK);
        await sequence.evaluateWithoutGeneratingNewTokens(tokens.slice(at, to));
        at = to;
        continue;
      }
      const [found] = await sequence.controlledEvaluate([[tokens[at]!, WANTED]]);
      at++;
      if (isCancelled()) throw new Error("cancelled");
      const bits = allowed?.() ?? spoken;
      if (take(nextTokenOf(found?.next.logits ?? new Map(), vocabulary, bits))) return;
    }
  }

  return { read };
}

function commonLength(one: readonly number[], other: readonly number[]): number {
  const differs = one.findIndex((token, i) => token !== other[i]);
  return differs === -1 ? one.length : differs;
}
