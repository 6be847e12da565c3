import { expect, test } from "vitest";
import { writeSafetensors } from "../../../engines/checkpoint/safetensors.ts";
import { readAll } from "./readAll.ts";
import { scratchFile } from "../embedded/scratch.ts";

const WEIGHTS = { a: { shape: [2, 1], data: new Float32Array([1, 2]) } };
const ENTRY = { dtype: "F32", shape: [2, 1], data_offsets: [0, 8] };

/** A file with this header over eight bytes of data. */
function fileOf(header: string): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, Buffer.from(header), Buffer.alloc(8)]);
}

test("tensors are read as they were written", () => {
  expect(readAll(scratchFile("a.safetensors", writeSafetensors(WEIGHTS)))).toEqual(WEIGHTS);
});

test.each([
  ["{", "has a damaged header"],
  ["null", "has a damaged header"],
  ['{"a":null}', "has a damaged entry for a"],
  ['{"a":7}', "has a damaged entry for a"],
  [JSON.stringify({ a: { ...ENTRY, shape: [-2] } }), "has a damaged entry for a"],
  [JSON.stringify({ a: { ...ENTRY, data_offsets: "all" } }), "has a damaged entry for a"],
  [JSON.stringify({ a: { ...ENTRY, dtype: "BF16" } }), "stores a as BF16, not F32"],
  [JSON.stringify({ a: { ...ENTRY, shape: [3, 1] } }), "is cut off at a"],
  [JSON.stringify({ a: { ...ENTRY, data_offsets: [8, 16] } }), "is cut off at a"],
])("a header of %s is told: it %s", (header, problem) => {
  expect(() => readAll(scratchFile("a.safetensors", fileOf(header)))).toThrow(
    `a.safetensors ${problem}. Use a checkpoint that Kit saved.`,
  );
});
