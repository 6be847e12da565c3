import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { dequantize, quantize } from "../../../engines/modelFiles/blocks/blockType.ts";
import {
  type BlockTypeName,
  BLOCK_TYPES,
  isBlockType,
} from "../../../engines/modelFiles/numberTypes.ts";

const TYPES = Object.keys(BLOCK_TYPES).filter(isBlockType);

interface Reference extends Record<BlockTypeName, { blocks: string; numbers: string }> {
  numbers: string;
}

/** What gguf-py made; `reference/blocks.py` writes it. */
const reference = JSON.parse(
  readFileSync(new URL("./reference/blocks.json", import.meta.url), "utf8"),
) as Reference;

/** Numbers of a text in base64. */
function floats(text: string): Float32Array {
  return new Float32Array(Uint8Array.from(Buffer.from(text, "base64")).buffer);
}

test.each(["q8_0", "q4_0", "q5_0"] as const)(
  "blocks of %s are gguf-py's bytes, also of awkward numbers",
  (type) => {
    const quantized = quantize(BLOCK_TYPES[type], floats(reference.numbers));
    expect(Buffer.from(quantized).toString("base64")).toBe(reference[type].blocks);
  },
);

test.each(TYPES)("numbers of blocks of %s are gguf-py's", (type) => {
  const blocks = Buffer.from(reference[type].blocks, "base64");
  expect([...dequantize(BLOCK_TYPES[type], blocks)]).toEqual([...floats(reference[type].numbers)]);
});

// The root of the mean square that llama.cpp's own blocks of these numbers are off by.
test.each([
  ["q8_0", 0.00473],
  ["q4_0", 0.0768],
  ["q5_0", 0.0384],
  ["q4_k", 0.0662],
  ["q6_k", 0.0166],
] as const)("numbers of %s are off by as little as llama.cpp's: %d", (type, theirs) => {
  const data = Float32Array.from({ length: 256 * 64 }, (_, i) => Math.sin(i * i) * (1 + (i % 7)));
  const found = dequantize(BLOCK_TYPES[type], quantize(BLOCK_TYPES[type], data));
  const squares = (of: (value: number, i: number) => number) =>
    data.reduce((sum, value, i) => sum + of(value, i) ** 2, 0);
  const error = Math.sqrt(squares((value, i) => value - found[i]!) / squares((value) => value));
  expect(error).toBeLessThan(1.02 * theirs);
});

test("numbers that fill no block are refused", () => {
  expect(() => quantize(BLOCK_TYPES.q8_0, new Float32Array(33))).toThrow(
    "33 numbers are not whole blocks",
  );
});
