import type { Reader } from "../answers/reader.ts";
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
/** Tokens after which logits are asked for at once: there may be a hundred thousand after each. */
const FEW = 8;
/** Tokens that an answer is chosen among: llama.cpp takes long to tell the logits of all. */
const LIKELIEST = 1024;
const TOTAL = { totalLogitWeight: true };
const ALL = { generateNext: { ...TOTAL, logits: true } };
const TOP = {
  generateNext: { ...TOTAL, logits: { filter: { tokens: [], includeTop: LIKELIEST } } },
};

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
    const { tokens, wantedFrom, asksAny = false, take, allowed, isCancelled } = reader;
    let at = Math.min(commonLength(sequence.contextTokens, tokens), wantedFrom, tokens.length - 1);
    await keep(sequence, at);
    let isAll = asksAny;
    for (;;) {
      if (isCancelled()) throw new Error("cancelled");
      if (at < wantedFrom) {
        const to = Math.min(wantedFrom, at + BLOCK);
        await sequence.evaluateWithoutGeneratingNewTokens(tokens.slice(at, to));
        at = to;
        continue;
      }
      const part = tokens.slice(at, at + FEW);
      const found = await sequence.controlledEvaluate(
        part.map((token) => [token, isAll ? ALL : TOP]),
      );
      if (isCancelled()) throw new Error("cancelled");
      for (const one of found) {
        const next = nextTokenOf(one?.next ?? {}, vocabulary, allowed?.() ?? spoken);
        const isBeyond = next.likeliest < 0 && !isAll;
        isAll = asksAny || isBeyond;
        // None of the likeliest is allowed: once more, for all.
        if (isBeyond) {
          await keep(sequence, at);
          break;
        }
        at++;
        if (take(next)) return;
      }
    }
  }

  return { read };
}

/** Forgets what comes after so many tokens. */
async function keep(sequence: LlamaSequence, count: number): Promise<void> {
  const { length } = sequence.contextTokens;
  if (length > count) await sequence.eraseContextTokenRanges([{ start: count, end: length }]);
}

function commonLength(one: readonly number[], other: readonly number[]): number {
  const differs = one.findIndex((token, i) => token !== other[i]);
  return differs === -1 ? one.length : differs;
}
