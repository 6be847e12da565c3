import { expect, test } from "vitest";
import { skippedRowsAdvice } from "../../../engines/dataset/rowLimit.ts";

const NANO = { layers: 2, heads: 4, width: 64, context: 256 };
const FOUND = { rows: 9, leftOut: 11, needed: 600, maxLength: undefined, context: 256 };

test("for a model from scratch, the advice names the context that keeps every row", () => {
  expect(skippedRowsAdvice({ ...FOUND, shape: NANO })).toBe(
    "model: { layers: 2, heads: 4, width: 64, context: 600 }",
  );
});

test("the advice names maxLength if it alone leaves rows out, and the model too if both do", () => {
  expect(skippedRowsAdvice({ ...FOUND, maxLength: 64, context: 1024, shape: NANO })).toBe(
    "maxLength: 600",
  );
  expect(skippedRowsAdvice({ ...FOUND, maxLength: 64, shape: NANO })).toBe(
    "model: { layers: 2, heads: 4, width: 64, context: 600 }, maxLength: 600",
  );
});

test("a checkpoint keeps its context, so that another model is needed", () => {
  expect(skippedRowsAdvice(FOUND)).toBe("a model with a context of 600 tokens");
});

test("there is no advice when at most a tenth is left out", () => {
  expect(skippedRowsAdvice({ ...FOUND, rows: 18, leftOut: 2 })).toBeUndefined();
  expect(skippedRowsAdvice({ ...FOUND, rows: 17, leftOut: 2 })).toBeDefined();
  expect(skippedRowsAdvice({ ...FOUND, leftOut: 0 })).toBeUndefined();
});

test("rows of megabytes are to be shortened, as no model could take them", () => {
  expect(skippedRowsAdvice({ ...FOUND, needed: 2_000_007, shape: NANO })).toBe(
    "shorten the longest, which has 2000007 tokens",
  );
});
