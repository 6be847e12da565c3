import { KitError } from "../../protocol/error.ts";
import { hasFiniteScales } from "./blocks/blockType.ts";
import { BLOCK_TYPES, NUMBER_TYPES, isBlockType, isNumberType } from "./numberTypes.ts";
import { readWhole, useFile } from "./plainFile.ts";
import { type Numbers, type StoredWeights, areFinite, isBfloat16 } from "./weights.ts";

/** A tensor that is not yet read. */
export interface TensorInfo {
  shape: number[];
  /** Of its numbers; a safetensors file may have others, such as masks, that nobody needs. */
  type: string;
}

/** A tensor in a file. */
export interface FileTensor extends TensorInfo {
  path: string;
  /** Of its first byte, in the file. */
  offset: number;
  bytes: number;
}

/** Tensors by their names, whose rows are read when they are wanted. A vector is one row. */
export interface TensorSource {
  tensors: ReadonlyMap<string, TensorInfo>;
  /**
   * Rows from one on, up to another, in float32; those of bfloat16 are its bits. They are the caller's.
   * @param room where they may lie
   * @throws KitError `CHECKPOINT_INVALID` when they are cut off, not finite or of a type that is not read
   */
  rows: TakenRows<Numbers>;
  /** The same as they lie in the file, of a type whose rows are blocks, where the source has them. */
  blocks?: TakenRows<Uint8Array>;
}

type TakenRows<T> = (name: string, from: number, to: number, room?: Room) => T;

/** Memory for rows that take the place of others: many arrays would lie about until they are collected. */
export interface Room {
  buffer: ArrayBuffer;
}

/** Numbers that are read at a time, unless a row has more. */
const PART_NUMBERS = 2 ** 20;

/**
 * Reads a tensor by parts, each in the place of the one before.
 * @param unit rows that stay together
 */
export function* parts<T = Numbers>(
  { tensors, rows }: { tensors: TensorSource["tensors"]; rows: TakenRows<T> },
  name: string,
  { unit = 1, room = { buffer: new ArrayBuffer(0) } }: { unit?: number; room?: Room } = {},
): Generator<T> {
  const shape = tensors.get(name)?.shape ?? [];
  const count = rowsOf(shape);
  const most = unit * Math.max(1, Math.floor(PART_NUMBERS / (columnsOf(shape) * unit)));
  for (let from = 0; from < count; from += most) {
    yield rows(name, from, Math.min(from + most, count), room);
  }
}

/** All of them, in memory. */
export function readAll({ tensors, rows }: TensorSource): StoredWeights {
  return Object.fromEntries(
    [...tensors].map(([name, { shape }]) => [name, { shape, data: rows(name, 0, rowsOf(shape)) }]),
  );
}

/** Reads all and keeps nothing. @throws KitError as `rows` */
export function assertReadable(source: TensorSource): void {
  const room = { buffer: new ArrayBuffer(0) };
  for (const name of source.tensors.keys()) Array.from(parts(source, name, { room }), () => 0);
}

/** The names of those that are bfloat16. */
export function bfloat16Of({ tensors }: TensorSource): Set<string> {
  return new Set([...tensors].flatMap(([name, { type }]) => (type === "bf16" ? [name] : [])));
}

/** Tensors in files. @param advice what to do about one that is damaged */
export function fileTensors(
  tensors: ReadonlyMap<string, FileTensor>,
  advice = "Save or download it again",
): Required<TensorSource> {
  const invalid = (name: string, problem: string) => {
    const { path } = entryOf(tensors, name);
    return new KitError("CHECKPOINT_INVALID", `${path} ${problem} ${name}. ${advice}.`);
  };

  function bytesOf(name: string, from: number, to: number, room?: Room): Uint8Array<ArrayBuffer> {
    const { path, shape, offset, bytes } = entryOf(tensors, name);
    const rowBytes = bytes / rowsOf(shape);
    const read = bytesIn(room, (to - from) * rowBytes);
    const isWhole = useFile(path, ({ file }) => readWhole(file, read, offset + from * rowBytes));
    if (!isWhole) throw invalid(name, "is cut off at");
    return read;
  }

  function rows(name: string, from: number, to: number, room?: Room): Numbers {
    const { path, type } = entryOf(tensors, name);
    if (!isNumberType(type)) throw otherType(path, name, type);
    const numbers = NUMBER_TYPES[type].decode(bytesOf(name, from, to, room));
    if (!areFinite(numbers)) throw invalid(name, "has non-finite numbers in");
    return numbers;
  }

  function blocks(name: string, from: number, to: number, room?: Room): Uint8Array {
    const { type } = entryOf(tensors, name);
    const read = bytesOf(name, from, to, room);
    if (isBlockType(type) && hasFiniteScales(BLOCK_TYPES[type], read)) return read;
    throw invalid(name, "has non-finite numbers in");
  }
  return { tensors, rows, blocks };
}

/** Tensors in memory. */
export function heldTensors(weights: StoredWeights): TensorSource {
  const tensors = new Map(
    Object.entries(weights).map(([name, tensor]) => [
      name,
      { shape: tensor.shape, type: isBfloat16(tensor) ? "bf16" : "f32" },
    ]),
  );
  function rows(name: string, from: number, to: number, room?: Room): Numbers {
    const { shape, type } = entryOf(tensors, name);
    const columns = columnsOf(shape);
    const held = weights[name]!.data.subarray(from * columns, to * columns);
    const bytes = bytesIn(room, held.byteLength);
    bytes.set(new Uint8Array(held.buffer, held.byteOffset, held.byteLength));
    return NUMBER_TYPES[type === "bf16" ? "bf16" : "f32"].decode(bytes);
  }
  return { tensors, rows };
}

/** The error for a tensor of a type that is not read. */
export function otherType(label: string, name: string, type: string): KitError {
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

/** Numbers of a tensor. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

function entryOf<T>(tensors: ReadonlyMap<string, T>, name: string): T {
  const tensor = tensors.get(name);
  if (tensor) return tensor;
  throw new Error(`there is no tensor ${name}`);
}

function bytesIn(room: Room | undefined, count: number): Uint8Array<ArrayBuffer> {
  if (!room) return new Uint8Array(count);
  if (room.buffer.byteLength < count) room.buffer = new ArrayBuffer(count);
  return new Uint8Array(room.buffer, 0, count);
}
