import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { dequantize, quantize } from "../../../engines/modelFiles/blocks/blockType.ts";
import { BLOCK_TYPES } from "../../../engines/modelFiles/numberTypes.ts";
import type { QuantizedType } from "../../../protocol/quantizedType.ts";

const TYPES: QuantizedType[] = ["q8_0", "q4_0"];

interface Reference extends Record<QuantizedType, { blocks: string; numbers: string }> {
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

test.each(TYPES)("blocks of %s are gguf-py's bytes, also of awkward numbers", (type) => {
  const quantized = quantize(BLOCK_TYPES[type], floats(reference.numbers));
  expect(Buffer.from(quantized).toString("base64")).toBe(reference[type].blocks);
});

test.each(TYPES)("numbers of blocks of %s are gguf-py's", (type) => {
  const blocks = Buffer.from(reference[type].blocks, "base64");
  expect([...dequantize(BLOCK_TYPES[type], blocks)]).toEqual([...floats(reference[type].numbers)]);
});

test.each([
  ["q8_0", 254],
  ["q4_0", 15],
] as const)(
  "a number of %s is off by half a step at most, a whole one at q4_0's end",
  (type, steps) => {
    const data = Float32Array.from({ length: 3200 }, (_, i) => Math.sin(i * i));
    const found = dequantize(BLOCK_TYPES[type], quantize(BLOCK_TYPES[type], data));
    const off = data.map((value, i) => Math.abs(value - found[i]!));
    expect(Math.max(...off)).toBeLessThan((type === "q8_0" ? 1 : 2) / steps + 1e-3);
    expect(off.reduce((sum, value) => sum + value, 0) / off.length).toBeLessThan(1 / steps / 1.7);
  },
);

test("numbers that fill no block are refused", () => {
  expect(() => quantize(BLOCK_TYPES.q8_0, new Float32Array(33))).toThrow(
    "33 numbers are no whole blocks",
  );
});
