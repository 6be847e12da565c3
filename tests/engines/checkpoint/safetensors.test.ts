import { expect, test } from "vitest";
import { fromFloat16 } from "../../../engines/modelFiles/float16.ts";
import { writeSafetensors } from "../../../engines/modelFiles/safetensors.ts";
import { widen } from "../../../engines/modelFiles/weights.ts";
import { scratchFile } from "../embedded/scratch.ts";
import { readAll } from "./readAll.ts";

const WEIGHTS = { a: { shape: [2, 1], data: new Float32Array([1, 2]) } };
const ENTRY = { dtype: "F32", shape: [2, 1], data_offsets: [0, 8] };

/** A file with this header over eight bytes of data, the first of which are given. */
function fileOf(header: string, bytes: number[] = []): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, Buffer.from(header), Buffer.concat([Buffer.from(bytes)], 8)]);
}

test("tensors are read as they were written", () => {
  expect(readAll(scratchFile("a.safetensors", Buffer.concat(writeSafetensors(WEIGHTS))))).toEqual(
    WEIGHTS,
  );
});

test("bfloat16 stays as it is, and is written so", () => {
  const data = Uint16Array.of(0x3f80, 0xc049, 0x0001);
  const file = scratchFile(
    "a.safetensors",
    Buffer.concat(writeSafetensors({ a: { shape: [3], data } })),
  );
  expect(readAll(file)).toEqual({ a: { shape: [3], data } });
  const { a } = widen(readAll(file));
  expect(a?.data).toEqual(Float32Array.of(1, -3.140625, 2 ** -133));
});

test("float16 becomes float32", () => {
  const halves = [0x3c00, 0xc248, 0x0001, 0x03ff, 0x0400, 0x7bff, 0x8000];
  const floats = [1, -3.140625, 2 ** -24, 1023 * 2 ** -24, 2 ** -14, 65504, -0];
  expect([...fromFloat16(Uint16Array.from(halves))]).toEqual(floats);
  const [infinite = 0, none = 0] = fromFloat16(Uint16Array.of(0xfc00, 0x7e00));
  expect([infinite, none]).toEqual([-Infinity, NaN]);
  const header = JSON.stringify({ a: { ...ENTRY, dtype: "F16", shape: [4, 1] } });
  const path = scratchFile("a.safetensors", fileOf(header, [0x00, 0x3c]));
  expect(readAll(path)["a"]?.data).toEqual(Float32Array.of(1, 0, 0, 0));
});

test.each(["BF16", "F16"])("numbers of %s that are not finite are refused by name", (dtype) => {
  const header = JSON.stringify({ a: { ...ENTRY, dtype, shape: [4, 1] } });
  const infinite = dtype === "F16" ? [0x00, 0x7c] : [0x80, 0x7f];
  const path = scratchFile("a.safetensors", fileOf(header, infinite));
  expect(() => readAll(path)).toThrow("has non-finite numbers in a");
});

test.each([
  ["{", "has a damaged header"],
  ["null", "has a damaged header"],
  ['{"a":null}', "has a damaged entry for a"],
  ['{"a":7}', "has a damaged entry for a"],
  [JSON.stringify({ a: { ...ENTRY, shape: [-2] } }), "has a damaged entry for a"],
  [JSON.stringify({ a: { ...ENTRY, data_offsets: "all" } }), "has a damaged entry for a"],
  [
    JSON.stringify({ a: { ...ENTRY, dtype: "I8", data_offsets: [8, 0] } }),
    "has the wrong size, or is truncated, at a",
  ],
  [JSON.stringify({ a: { ...ENTRY, dtype: "BF16" } }), "has the wrong size, or is truncated, at a"],
  [JSON.stringify({ a: { ...ENTRY, shape: [3, 1] } }), "has the wrong size, or is truncated, at a"],
  [
    JSON.stringify({ a: { ...ENTRY, data_offsets: [8, 16] } }),
    "has the wrong size, or is truncated, at a",
  ],
])("a header of %s is told: it %s", (header, problem) => {
  expect(() => readAll(scratchFile("a.safetensors", fileOf(header)))).toThrow(
    `a.safetensors ${problem}. Save or download it again.`,
  );
});
