import { expect, test } from "vitest";
import { createExamples } from "../../../engines/examples/examples.ts";
import { VOCABULARY } from "../../../engines/tokens/byteTokens.ts";
import { createBatchLoader } from "../../../engines/training/batches.ts";

/** Each has its index as its second token. */
function examplesOf(count: number) {
  const examples = createExamples(VOCABULARY);
  for (let i = 0; i < count; i++) {
    examples.addTruncated([[{ tokens: Uint16Array.of(0, i), isLearned: true }]], Infinity);
  }
  return examples;
}

const EXAMPLES = examplesOf(7);

/** Which examples the first `count` batches hold, in order. */
function order(seed: number, count: number, rows: number): number[] {
  const feed = createBatchLoader(EXAMPLES, rows, seed);
  return Array.from({ length: count }, feed).flatMap((batch) =>
    batch.map(({ sequences }) => sequences[0]?.tokens[1] ?? -1),
  );
}

test("every pass has each row once, in an order of its own that the seed decides", () => {
  const rows = order(1, 7, 2);
  const passes = [rows.slice(0, 7), rows.slice(7)];
  for (const pass of passes) expect(pass.toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(passes[0]).not.toEqual(passes[1]);
  expect(order(1, 7, 2)).toEqual(rows);
  expect(order(2, 7, 2)).not.toEqual(rows);
});

test("fewer rows than a batch holds are taken again", () => {
  expect(order(1, 1, 14).toSorted()).toEqual([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
});
