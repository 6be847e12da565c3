import { quantize } from "../../modelFiles/blocks/blockType.ts";
import { q8_0 } from "../../modelFiles/blocks/q8_0.ts";
import { fromHalf } from "../../modelFiles/float16.ts";
import { type TensorSource, chunks, inMemoryTensors } from "../../modelFiles/tensors.ts";
import { type Numbers, type Weights, widened } from "../../modelFiles/weights.ts";
import { wholeSlice } from "../device/array.ts";
import type { Device } from "../device/device.ts";
import { Q8_BLOCK } from "../kernels/stored.ts";
import type { MatrixPart, MatrixWeight } from "../ops/operation.ts";
import type { TensorPlan, TrainedArray, TrainedRanges } from "./tensors.ts";

/** Bytes on their way to the GPU at a time. */
const MAX_PENDING_BYTES = 2 ** 28;

/** Uploads a frozen model, chunk by chunk. */
export async function writeFrozen(
  device: Device,
  { frozen }: TensorPlan,
  { tensors, rows, blocks }: TensorSource,
): Promise<void> {
  const buffer = { memory: new ArrayBuffer(0) };
  let pending = 0;
  for (const [name, address] of Object.entries(frozen)) {
    const matrix = "matrix" in address ? address.matrix : undefined;
    const isStored = matrix?.type === "q8_0" && tensors.get(name)?.type === "q8_0" && blocks;
    let row = "matrix" in address ? address.row : 0;
    const read = isStored ? { tensors, rows: blocks } : { tensors, rows };
    for (const some of chunks<Numbers | Uint8Array>(read, name, { buffer, unit: 2 })) {
      if (!("matrix" in address)) {
        device.write(address.weights.array, address.weights.from, widened(some as Numbers));
      } else {
        writeRows(device, address.matrix, row, some);
        row += rowsOf(some, address.matrix);
      }
      pending += some.byteLength;
      if (pending < MAX_PENDING_BYTES) continue;
      await device.written();
      pending = 0;
    }
  }
  await device.written();
}

function rowsOf(some: Numbers | Uint8Array, { in: inner }: MatrixWeight): number {
  const isBlocks = some instanceof Uint8Array;
  return isBlocks ? some.length / q8_0.bytes / (inner / Q8_BLOCK) : some.length / inner;
}

/** Writes rows of a frozen matrix, in its type. */
function writeRows(
  device: Device,
  matrix: MatrixWeight,
  row: number,
  some: Numbers | Uint8Array,
): void {
  const perRow = some.length / rowsOf(some, matrix);
  for (const part of matrix.parts) {
    const start = Math.max(row, part.first);
    const end = Math.min(row + some.length / perRow, part.first + part.rows);
    if (end <= start) continue;
    const own = some.subarray((start - row) * perRow, (end - row) * perRow);
    const at = (start - part.first) * matrix.in;
    if (matrix.type === "q8_0") writeBlocks(device, part, at, own);
    else if (matrix.type === "bf16") device.write(part.weights.array, at / 2, own);
    else device.write(part.weights.array, at, widened(own as Numbers));
  }
}

/** Separates the numbers of q8_0's blocks from their scales. @param at index of their first number */
function writeBlocks(
  device: Device,
  { weights, scales }: MatrixPart,
  at: number,
  some: Numbers | Uint8Array,
): void {
  const blocks = some instanceof Uint8Array ? some : quantize(q8_0, widened(some));
  const count = blocks.length / q8_0.bytes;
  const view = new DataView(blocks.buffer, blocks.byteOffset, blocks.byteLength);
  const numbers = new Uint8Array(count * Q8_BLOCK);
  const factors = new Float32Array(count);
  for (let i = 0; i < count; i++) {
    const from = i * q8_0.bytes;
    factors[i] = fromHalf(view.getUint16(from, true));
    numbers.set(blocks.subarray(from + 2, from + q8_0.bytes), i * Q8_BLOCK);
  }
  device.write(weights.array, at / 4, numbers);
  device.write(weights.array, scales + at / Q8_BLOCK, factors);
}

/** Writes one array of all trained tensors. */
export async function writeTrained(
  device: Device,
  { trained }: TensorPlan,
  array: TrainedArray,
  weights: Weights,
): Promise<void> {
  const source = inMemoryTensors(weights);
  for (const [name, ranges] of Object.entries(trained)) {
    const data = weights[name]?.data;
    if (!data || !source.tensors.has(name)) throw new Error(`there is no tensor ${name}`);
    let from = 0;
    for (const { page, from: at, words } of ranges) {
      device.write(page[array], at, data.subarray(from, from + words));
      from += words;
    }
  }
  await device.written();
}

/** Reads one array of all trained tensors. @param shapes their shapes, in order */
export async function readTrained(
  device: Device,
  { pages, trained }: TensorPlan,
  array: TrainedArray,
  shapes: Readonly<Record<string, number[]>>,
): Promise<Weights> {
  const read = await device.read(pages.map((page) => wholeSlice(page[array])));
  const dataOf = (ranges: TrainedRanges) => {
    const parts = ranges.map(({ page, from, words }) =>
      read[pages.indexOf(page)]!.subarray(from, from + words),
    );
    if (parts.length === 1) return parts[0]!;
    const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  };
  return Object.fromEntries(
    Object.entries(shapes).map(([name, shape]) => [name, { shape, data: dataOf(trained[name]!) }]),
  );
}
