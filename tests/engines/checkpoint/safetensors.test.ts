import { expect, test } from "vitest";
import { readSafetensors, writeSafetensors } from "../../../engines/checkpoint/safetensors.ts";

const WEIGHTS = { a: { shape: [2, 1], data: new Float32Array([1, 2]) } };
const ENTRY = { dtype: "F32", shape: [2, 1], data_offsets: [0, 8] };

/** A file with this header over eight bytes of data. */
function fileOf(header: string): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, Buffer.from(header), Buffer.alloc(8)]);
}

test("what is written is what is read, wherever in memory it lies", () => {
  const file = writeSafetensors(WEIGHTS);
  const moved = Buffer.concat([Buffer.from("x"), file]).subarray(1);
  expect(readSafetensors(moved, "a.safetensors")).toEqual(WEIGHTS);
});

test.each([
  ["{", "has a damaged header"],
  ['{"a":null}', "has a damaged entry for a"],
  ['{"a":7}', "has a damaged entry for a"],
  [JSON.stringify({ a: { ...ENTRY, shape: [-2] } }), "has a damaged entry for a"],
  [JSON.stringify({ a: { ...ENTRY, data_offsets: "all" } }), "has a damaged entry for a"],
  [JSON.stringify({ a: { ...ENTRY, dtype: "BF16" } }), "stores a as BF16, not F32"],
  [JSON.stringify({ a: { ...ENTRY, shape: [3, 1] } }), "is cut off at a"],
  [JSON.stringify({ a: { ...ENTRY, data_offsets: [8, 16] } }), "is cut off at a"],
])("a header of %s is told: it %s", (header, problem) => {
  expect(() => readSafetensors(fileOf(header), "a.safetensors")).toThrow(
    `a.safetensors ${problem}: use a checkpoint that Kit saved.`,
  );
});
