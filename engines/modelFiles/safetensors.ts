import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { assertLittleEndian } from "./byteOrder.ts";
import { fromFloat16 } from "./float16.ts";
import { type NumberType, NUMBER_BYTES, NUMBER_TYPES } from "./numberTypes.ts";
import { readWhole, useFile } from "./plainFile.ts";
import {
  type AllocateTensor,
  type StoredTensor,
  type StoredWeights,
  type TakeRows,
  areFinite,
  isBfloat16,
  rowsInto,
} from "./weights.ts";

/** A header has about 130 bytes for each tensor, and notes of its writer. */
const MOST_ENTRY_BYTES = 1024;
const MOST_NOTE_BYTES = 64 * 1024;
export const LENGTH_BYTES = 8;
const ALIGNMENT = 8;
/** Numbers that are read at a time where rows are taken one part after another. */
const PART_NUMBERS = 2 ** 20;

export const LEAST_NUMBER_BYTES = 2;

/**
 * Tensors in the safetensors format: the header's length (u64, little-endian), the header (JSON),
 * the data (little-endian). Source: github.com/huggingface/safetensors.
 * @returns the file's parts, one after another; the tensors are not copied
 */
export function writeSafetensors(weights: StoredWeights): Uint8Array[] {
  assertLittleEndian();
  const header: Record<string, unknown> = { __metadata__: { format: "pt" } };
  let offset = 0;
  for (const [name, tensor] of Object.entries(weights)) {
    const dtype: NumberType = isBfloat16(tensor) ? "BF16" : "F32";
    const end = offset + tensor.data.byteLength;
    header[name] = { dtype, shape: tensor.shape, data_offsets: [offset, end] };
    offset = end;
  }
  const json = Buffer.from(JSON.stringify(header));
  const padding = -json.length & (ALIGNMENT - 1);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeBigUInt64LE(BigInt(json.length + padding));
  const data = Object.values(weights).map(({ data }) => toBytes(data));
  return [length, json, Buffer.alloc(padding, " "), ...data];
}

/** A file's tensors, not yet read. */
export interface SafetensorsFile {
  size: number;
  headerBytes: number;
  /**
   * @param tensors how many are expected
   * @throws KitError `CHECKPOINT_INVALID` when the header is damaged or far longer than these need, or when
   * the data does not match it
   */
  entries: (tensors: number) => Map<string, Entry>;
  /**
   * Float16 becomes float32.
   * @returns undefined for a tensor that found room
   * @throws KitError `CHECKPOINT_INVALID` when it is cut off or not finite
   */
  read: {
    (name: string, entry: NumberEntry): StoredTensor;
    (name: string, entry: NumberEntry, room: AllocateTensor | undefined): StoredTensor | undefined;
  };
  /** So many numbers of a tensor from one on, in float32. @throws KitError `CHECKPOINT_INVALID` when it is cut off */
  part: (name: string, entry: NumberEntry, from: number, count: number) => Float32Array;
}

/** More than any file has. */
const MOST_TENSORS = 100_000;

/** Whether a file is as long as its header says. */
export function isWholeSafetensors(path: string): boolean {
  try {
    useSafetensors(path, (file) => file.entries(MOST_TENSORS));
    return true;
  } catch {
    return false;
  }
}

/**
 * Opens a safetensors file for `use`, which reads only the tensors that it wants.
 * @throws KitError `CHECKPOINT_INVALID` when the file has another format, is cut off or damaged
 */
export function useSafetensors<T>(path: string, use: (file: SafetensorsFile) => T): T {
  assertLittleEndian();
  const invalid = (problem: string, cause?: unknown) =>
    new KitError("CHECKPOINT_INVALID", `${path} ${problem}. Save or download it again.`, {
      cause,
    });
  return useFile(path, ({ file, size }) => {
    const length = Buffer.alloc(LENGTH_BYTES);
    if (!readWhole(file, length, 0)) throw invalid("is not a safetensors file");
    const headerBytes = Number(length.readBigUInt64LE());
    const start = LENGTH_BYTES + headerBytes;
    if (start > size) throw invalid("is not a safetensors file, or is cut off");

    function entries(tensors: number): Map<string, Entry> {
      if (headerBytes > MOST_NOTE_BYTES + tensors * MOST_ENTRY_BYTES) {
        throw invalid(`has a header of ${headerBytes} bytes, too long for ${tensors} tensors`);
      }
      const bytes = Buffer.alloc(headerBytes);
      if (!readWhole(file, bytes, LENGTH_BYTES)) throw invalid("is cut off in its header");
      let header: unknown;
      try {
        header = JSON.parse(bytes.toString());
      } catch (cause) {
        throw invalid("has a damaged header", cause);
      }
      if (!isRecord(header)) throw invalid("has a damaged header");
      const found = new Map<string, Entry>();
      for (const [name, entry] of Object.entries(header)) {
        if (name === "__metadata__") continue;
        if (!isEntry(entry)) throw invalid(`has a damaged entry for ${name}`);
        const [from, to] = entry.data_offsets;
        const isCut = hasNumbers(entry) ? to - from !== bytesOf(entry) : to < from;
        if (isCut || start + to > size) {
          throw invalid(`is cut off at ${name}`);
        }
        found.set(name, entry);
      }
      assertTiled(found);
      return found;
    }

    /** Holds the parts of all tensors, one after another: many arrays would lie about until they are collected. */
    let staging = new ArrayBuffer(0);

    /** The format requires the tensors to follow one another to the end of the file. */
    function assertTiled(found: Map<string, Entry>): void {
      let end = 0;
      const inOrder = [...found].toSorted(
        ([, { data_offsets: a }], [, { data_offsets: b }]) => a[0] - b[0] || a[1] - b[1],
      );
      for (const [name, { data_offsets: offsets }] of inOrder) {
        if (offsets[0] !== end) throw invalid(`has a gap or an overlap at ${name}`);
        end = offsets[1];
      }
      if (start + end !== size) throw invalid("has a gap or an overlap at its end");
    }

    function read(name: string, entry: NumberEntry): StoredTensor;
    function read(
      name: string,
      entry: NumberEntry,
      room?: AllocateTensor,
    ): StoredTensor | undefined;
    function read(
      name: string,
      entry: NumberEntry,
      room?: AllocateTensor,
    ): StoredTensor | undefined {
      const { dtype, shape, data_offsets: offsets } = entry;
      const count = (offsets[1] - offsets[0]) / NUMBER_BYTES[dtype];
      function fill<Numbers extends Float32Array | Uint16Array>(data: Numbers, from = 0): Numbers {
        const isWhole = readWhole(file, toBytes(data), start + offsets[0] + from);
        if (!isWhole) throw invalid(`is cut off at ${name}`);
        if (dtype !== "F16" && !areFinite(data)) throw notFinite(name);
        return data;
      }
      /** Parts of whole rows, about a million numbers each. */
      function eachPart(take: TakeRows): void {
        const columns = shape.at(-1) ?? 1;
        const numbers = Math.max(1, Math.floor(PART_NUMBERS / columns)) * columns;
        const most = Math.min(numbers, count);
        if (staging.byteLength < most * NUMBER_BYTES[dtype]) {
          staging = new ArrayBuffer(most * NUMBER_BYTES[dtype]);
        }
        const data =
          dtype === "F32" ? new Float32Array(staging, 0, most) : new Uint16Array(staging, 0, most);
        for (let at = 0; at < count; at += numbers) {
          const part = fill(data.subarray(0, count - at), at * NUMBER_BYTES[dtype]);
          const decoded = dtype === "F16" ? fromFloat16(part as Uint16Array) : part;
          if (dtype === "F16" && !areFinite(decoded)) throw notFinite(name);
          take(decoded);
        }
      }
      const place = room?.(name, count, dtype === "BF16");
      if (place) {
        if (typeof place === "function") eachPart(place);
        else if (dtype === "F16") eachPart(rowsInto(place));
        else fill(place);
        return undefined;
      }
      if (dtype === "F32") return { shape, data: fill(new Float32Array(count)) };
      const halves = fill(new Uint16Array(count));
      if (dtype === "BF16") return { shape, data: halves };
      const data = fromFloat16(halves);
      if (!areFinite(data)) throw notFinite(name);
      return { shape, data };
    }
    function part(
      name: string,
      { dtype, data_offsets: [begin] }: NumberEntry,
      from: number,
      count: number,
    ) {
      const bytes = new Uint8Array(count * NUMBER_BYTES[dtype]);
      const isWhole = readWhole(file, bytes, start + begin + from * NUMBER_BYTES[dtype]);
      if (!isWhole) throw invalid(`is cut off at ${name}`);
      return NUMBER_TYPES[dtype].decode(bytes.buffer);
    }
    const notFinite = (name: string) => invalid(`has non-finite numbers in ${name}`);

    return use({ size, headerBytes, entries, read, part });
  });
}

/** A tensor that is not yet read. */
export interface Entry {
  dtype: string;
  shape: number[];
  data_offsets: [number, number];
}

/** One of a type that is read; a model may have others, such as masks, that nobody needs. */
export type NumberEntry = Entry & { dtype: NumberType };

export function hasNumbers(entry: Entry): entry is NumberEntry {
  return Object.hasOwn(NUMBER_BYTES, entry.dtype);
}

/**
 * @param label the file, for the error
 * @throws KitError `CHECKPOINT_INVALID` for a tensor of another type
 */
export function numbersOf(name: string, entry: Entry, label: string): NumberEntry {
  if (hasNumbers(entry)) return entry;
  throw otherType(label, name, entry);
}

/** The error for a tensor of a type that is not read. */
export function otherType(label: string, name: string, { dtype }: Entry): KitError {
  return new KitError(
    "CHECKPOINT_INVALID",
    `${label} stores ${name} as ${dtype}, and Kit reads F32, BF16 and F16. Use the model in one of these types.`,
  );
}

function isEntry(value: unknown): value is Entry {
  if (!isRecord(value)) return false;
  const { dtype, shape, data_offsets: offsets } = value;
  return typeof dtype === "string" && isSizes(shape) && isSizes(offsets) && offsets.length === 2;
}

function isSizes(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
}

function bytesOf({ dtype, shape }: NumberEntry): number {
  return shape.reduce((product, length) => product * length, NUMBER_BYTES[dtype]);
}

/** In the machine's order, which is the format's. */
function toBytes(data: Float32Array | Uint16Array): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
