import type { Reader } from "../answers/reader.ts";
import { nextTokenOf } from "./nextToken.ts";
import type { LlamaSequence } from "./nodeLlama.ts";

interface Sequences {
  sequences: readonly LlamaSequence[];
  vocabulary: number;
  /** Bit mask of the tokens that an answer may have. */
  answerBits: Int32Array;
}

/** Maximum prompt tokens read between two checks for cancellation. */
const BLOCK = 256;
/** Maximum positions per call that returns logits: each may have a hundred thousand. */
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
    const lengths = free.map(({ contextTokens }) => commonLength(contextTokens, reader.tokens));
    const [sequence] = free.splice(lengths.indexOf(Math.max(...lengths)), 1) as [LlamaSequence];
    try {
      await readWith(sequence, reader);
    } finally {
      free.push(sequence);
      waiting.shift()?.();
    }
  }

  async function readWith(sequence: LlamaSequence, reader: Reader): Promise<void> {
    const {
      tokens,
      logitsFrom,
      needsAllLogits = false,
      take,
      allowed,
      onCached,
      isCancelled,
    } = reader;
    let pos = Math.min(commonLength(sequence.contextTokens, tokens), logitsFrom, tokens.length - 1);
    onCached?.(pos);
    await truncate(sequence, pos);
    let usesAllLogits = needsAllLogits;
    for (;;) {
      if (isCancelled()) throw new Error("cancelled");
      if (pos < logitsFrom) {
        const end = Math.min(logitsFrom, pos + BLOCK);
        await sequence.evaluateWithoutGeneratingNewTokens(tokens.slice(pos, end));
        pos = end;
        continue;
      }
      const chunk = tokens.slice(pos, pos + CHUNK_POSITIONS);
      const results = await sequence.controlledEvaluate(
        chunk.map((token) => [token, usesAllLogits ? ALL : TOP]),
      );
      if (isCancelled()) throw new Error("cancelled");
      for (const result of results) {
        const next = nextTokenOf(result?.next ?? {}, vocabulary, allowed?.() ?? answerBits);
        const hasNoneAllowed = next.argmax < 0 && !usesAllLogits;
        usesAllLogits = needsAllLogits || hasNoneAllowed;
        // None of the top tokens is allowed: repeat with all logits.
        if (hasNoneAllowed) {
          await truncate(sequence, pos);
          break;
        }
        pos++;
        if (take(next)) return;
      }
    }
  }

  return { read };
}

/** Drops all but the first `count` tokens. */
async function truncate(sequence: LlamaSequence, count: number): Promise<void> {
  const { length } = sequence.contextTokens;
  if (length > count) await sequence.eraseContextTokenRanges([{ start: count, end: length }]);
}

function commonLength(a: readonly number[], b: readonly number[]): number {
  const difference = a.findIndex((token, i) => token !== b[i]);
  return difference === -1 ? a.length : difference;
}
