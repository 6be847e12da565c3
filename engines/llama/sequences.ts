import type { Reader } from "../answers/reader.ts";
import { nextTokenOf } from "./nextToken.ts";
import type { LlamaSequence } from "./nodeLlama.ts";

interface Sequences {
  sequences: readonly LlamaSequence[];
  vocabulary: number;
  /** Bit mask of the tokens that an answer may have. */
  answerBits: Int32Array;
}

/** Prompt tokens read between two checks for cancellation. */
const BLOCK = 256;
/** Positions per call that returns logits, up to a hundred thousand each. */
const CHUNK_POSITIONS = 8;
/** Top logits that llama.cpp returns, because copying all is slow. */
const TOP_LOGITS = 1024;
const TOTAL = { totalLogitWeight: true };
const ALL = { generateNext: { ...TOTAL, logits: true } };
const TOP = {
  generateNext: { ...TOTAL, logits: { filter: { tokens: [], includeTop: TOP_LOGITS } } },
};

/** Serves as many readers at once as there are sequences; each reuses the sequence with the longest common prefix. */
export function createSequencePool({ sequences, vocabulary, answerBits }: Sequences) {
  const free = [...sequences];
  const waiting: (() => void)[] = [];

  /** Resolves once the reader is done. */
  async function read(reader: Reader): Promise<void> {
    while (free.length === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    const lengths = free.map((one) => commonLength(one.contextTokens, reader.tokens));
    const [sequence] = free.splice(lengths.indexOf(Math.max(...lengths)), 1) as [LlamaSequence];
    try {
      await readWith(sequence, reader);
    } finally {
      free.push(sequence);
      waiting.shift()?.();
    }
  }

  async function readWith(sequence: LlamaSequence, reader: Reader): Promise<void> {
    const { tokens, logitsFrom, needsAllLogits = false, take, allowed, isCancelled } = reader;
    let at = Math.min(commonLength(sequence.contextTokens, tokens), logitsFrom, tokens.length - 1);
    await keep(sequence, at);
    let isAll = needsAllLogits;
    for (;;) {
      if (isCancelled()) throw new Error("cancelled");
      if (at < logitsFrom) {
        const to = Math.min(logitsFrom, at + BLOCK);
        await sequence.evaluateWithoutGeneratingNewTokens(tokens.slice(at, to));
        at = to;
        continue;
      }
      const chunk = tokens.slice(at, at + CHUNK_POSITIONS);
      const found = await sequence.controlledEvaluate(
        chunk.map((token) => [token, isAll ? ALL : TOP]),
      );
      if (isCancelled()) throw new Error("cancelled");
      for (const one of found) {
        const next = nextTokenOf(one?.next ?? {}, vocabulary, allowed?.() ?? answerBits);
        const isBeyond = next.argmax < 0 && !isAll;
        isAll = needsAllLogits || isBeyond;
        // No top token is allowed: repeat with all logits.
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

/** Drops all but the first `count` tokens. */
async function keep(sequence: LlamaSequence, count: number): Promise<void> {
  const { length } = sequence.contextTokens;
  if (length > count) await sequence.eraseContextTokenRanges([{ start: count, end: length }]);
}

function commonLength(one: readonly number[], other: readonly number[]): number {
  const differs = one.findIndex((token, i) => token !== other[i]);
  return differs === -1 ? one.length : differs;
}
