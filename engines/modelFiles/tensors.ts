import { KitError } from "../../protocol/error.ts";
import { NUMBER_TYPES } from "./numberTypes.ts";
import { type Numbers, type StoredWeights, isBfloat16 } from "./weights.ts";

/** A tensor that isn't read yet. */
export interface TensorInfo {
  shape: number[];
  /** A `NumberTypeName`, or an unsupported type, such as a mask's. */
  type: string;
}

/** Tensors by name, whose rows are read on demand. A vector is one row. */
export interface TensorSource {
  tensors: ReadonlyMap<string, TensorInfo>;
  /**
   * Reads rows `from` to `to`, end excluded, in float32 or bfloat16. The caller owns them.
   * @param buffer memory to reuse
   * @throws KitError `CHECKPOINT_INVALID` if they are truncated, not finite or of an unsupported type
   */
  rows: ReadRows<Numbers>;
  /** As `rows`, but undecoded; only for tensors of a block type. */
  blocks?: ReadRows<Uint8Array>;
}

type ReadRows<T> = (name: string, from: number, to: number, buffer?: ReadBuffer) => T;

/** Memory that is reused for rows, because many arrays would wait for garbage collection. */
export interface ReadBuffer {
  memory: ArrayBuffer;
}

/** Numbers read at a time, unless a row has more. */
const CHUNK_NUMBERS = 2 ** 20;

/**
 * Reads a tensor in chunks. Each chunk overwrites the previous one.
 * @param unit number of rows to keep together, such as a head's
 */
export function* chunks<T = Numbers>(
  { tensors, rows }: { tensors: TensorSource["tensors"]; rows: ReadRows<T> },
  name: string,
  {
    unit = 1,
    buffer = { memory: new ArrayBuffer(0) },
  }: { unit?: number; buffer?: ReadBuffer } = {},
): Generator<T> {
  const shape = tensors.get(name)?.shape ?? [];
  const count = rowsOf(shape);
  const chunkRows = unit * Math.max(1, Math.floor(CHUNK_NUMBERS / (columnsOf(shape) * unit)));
  for (let from = 0; from < count; from += chunkRows) {
    yield rows(name, from, Math.min(from + chunkRows, count), buffer);
  }
}

/** Reads all tensors into memory. */
export function readAll({ tensors, rows }: TensorSource): StoredWeights {
  return Object.fromEntries(
    [...tensors].map(([name, { shape }]) => [name, { shape, data: rows(name, 0, rowsOf(shape)) }]),
  );
}

/** Reads and discards all tensors. @throws KitError as `rows` */
export function assertReadable(source: TensorSource): void {
  const buffer = { memory: new ArrayBuffer(0) };
  for (const name of source.tensors.keys()) Array.from(chunks(source, name, { buffer }), () => 0);
}

export function bfloat16Of({ tensors }: TensorSource): Set<string> {
  return new Set([...tensors].flatMap(([name, { type }]) => (type === "bf16" ? [name] : [])));
}

export function inMemoryTensors(weights: StoredWeights): TensorSource {
  const tensors = new Map(
    Object.entries(weights).map(([name, tensor]) => [
      name,
      { shape: tensor.shape, type: isBfloat16(tensor) ? "bf16" : "f32" },
    ]),
  );
  function rows(name: string, from: number, to: number, buffer?: ReadBuffer): Numbers {
    const { shape, type } = entryOf(tensors, name);
    const columns = columnsOf(shape);
    const stored = weights[name]!.data.subarray(from * columns, to * columns);
    const bytes = bytesIn(buffer, stored.byteLength);
    bytes.set(new Uint8Array(stored.buffer, stored.byteOffset, stored.byteLength));
    return NUMBER_TYPES[type === "bf16" ? "bf16" : "f32"].decode(bytes);
  }
  return { tensors, rows };
}

/** The error for a tensor of an unsupported type. */
export function unsupportedType(label: string, name: string, type: string): KitError {
  return new KitError(
    "CHECKPOINT_INVALID",
    `${label} stores ${name} as ${type}, and Kit reads F32, BF16 and F16. Use the model in one of these types.`,
  );
}

export function columnsOf(shape: readonly number[]): number {
  return shape.at(-1) ?? 1;
}

export function rowsOf(shape: readonly number[]): number {
  return sizeOf(shape.slice(0, -1));
}

/** Number of elements. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

export function entryOf<T>(tensors: ReadonlyMap<string, T>, name: string): T {
  const tensor = tensors.get(name);
  if (tensor) return tensor;
  throw new Error(`there is no tensor ${name}`);
}

/** Bytes of reused memory, or new ones. */
export function bytesIn(buffer: ReadBuffer | undefined, count: number): Uint8Array<ArrayBuffer> {
  if (!buffer) return new Uint8Array(count);
  if (buffer.memory.byteLength < count) buffer.memory = new ArrayBuffer(count);
  return new Uint8Array(buffer.memory, 0, count);
}
