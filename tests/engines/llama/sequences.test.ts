import { expect, it } from "vitest";
import { allowedBits } from "../../../engines/answers/allowedBits.ts";
import type { LlamaSequence } from "../../../engines/llama/nodeLlama.ts";
import { createSequencePool } from "../../../engines/llama/sequences.ts";

const VOCABULARY = 3000;

interface Asked {
  generateNext: { logits: true | { filter: { includeTop: number } } };
}

/** llama.cpp's sequence, after whose tokens the first of the vocabulary are the likeliest. */
function sequenceOf(asked: boolean[]): LlamaSequence {
  const contextTokens: number[] = [];
  return {
    contextSize: 100,
    contextTokens,
    eraseContextTokenRanges([range]) {
      contextTokens.splice(range!.start, range!.end - range!.start);
      return Promise.resolve();
    },
    evaluateWithoutGeneratingNewTokens(tokens) {
      contextTokens.push(...tokens);
      return Promise.resolve();
    },
    controlledEvaluate(input) {
      const found = (input as [number, Asked][]).map(([token, { generateNext }]) => {
        contextTokens.push(token);
        const { logits: wanted } = generateNext;
        asked.push(wanted === true);
        const length = wanted === true ? VOCABULARY : wanted.filter.includeTop;
        const logits = new Map(Array.from({ length }, (_, id) => [id, -id / 100] as const));
        return { next: { logits, totalLogitWeight: 100 } };
      });
      return Promise.resolve(found);
    },
  };
}

it("asks for all logits only where none of the likeliest tokens is allowed", async () => {
  const asked: boolean[] = [];
  const sequence = sequenceOf(asked);
  const answerBits = allowedBits(VOCABULARY, () => true);
  const { read } = createSequencePool({
    sequences: [sequence],
    vocabulary: VOCABULARY,
    answerBits,
  });
  const tokens = [1, 2, 3];
  /** Allowed for each token of the answer: some of the likeliest, none of them, any. */
  const may = [(id: number) => id > 4, (id: number) => id > 2500, () => true];
  const chosen: number[] = [];
  await read({
    tokens,
    logitsFrom: 2,
    isCancelled: () => false,
    allowed: () => allowedBits(VOCABULARY, may[chosen.length]!),
    take({ argmax }) {
      chosen.push(argmax);
      tokens.push(argmax);
      return chosen.length === may.length;
    },
  });
  expect(chosen).toEqual([5, 2501, 0]);
  expect(asked).toEqual([false, false, true, false]);
  expect(sequence.contextTokens).toEqual([1, 2, 3, 5, 2501]);
});
