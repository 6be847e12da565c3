import { expect, test } from "vitest";
import { createFeed, rowLength } from "../../../../engines/embedded/step/batch.ts";
import { createExamples } from "../../../../engines/examples/examples.ts";
import { SPECIALS, VOCABULARY } from "../../../../engines/tokens/byteTokens.ts";

/** The start, 1 to `count` times its index, and an end that is learned. */
function examplesOf(count: number) {
  const examples = createExamples(VOCABULARY);
  for (let i = 0; i < count; i++) {
    const read = [SPECIALS.bos, ...Array.from({ length: i + 1 }, () => i)];
    const spans = [
      { tokens: Uint16Array.from(read), isLearned: false },
      { tokens: Uint16Array.of(SPECIALS.eos), isLearned: true },
    ];
    examples.addStart(spans, Infinity);
  }
  return examples;
}

const EXAMPLES = examplesOf(7);

/** Which examples the first `count` batches hold, in order. */
function order(seed: number, count: number, rows: number): number[] {
  const length = rowLength(EXAMPLES.longest);
  const feed = createFeed(EXAMPLES, { rows, length }, seed);
  return Array.from({ length: count }, () => feed().tokens).flatMap((tokens) =>
    Array.from({ length: rows }, (_, row) => tokens[row * length + 1] ?? -1),
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

test("each token's target is the next one, and padding is never learned", () => {
  const examples = examplesOf(2);
  expect(rowLength(examples.longest)).toBe(4);
  const { tokens, targets, learned, size } = createFeed(examples, { rows: 2, length: 4 }, 0)();
  const row = tokens.indexOf(1) > 4 ? 0 : 4;
  expect([...tokens.subarray(row, row + 4)]).toEqual([SPECIALS.bos, 0, 0, 0]);
  expect([...targets.subarray(row, row + 4)]).toEqual([0, SPECIALS.eos, 0, 0]);
  expect([...learned.subarray(row, row + 4)]).toEqual([0, 1, 0, 0]);
  expect(size).toBe(5);
});
