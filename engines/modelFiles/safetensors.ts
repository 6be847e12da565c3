import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { assertLittleEndian } from "./byteOrder.ts";
import type { FileTensor } from "./fileTensors.ts";
import { bytesOf, isDtype, dtypeBytes } from "./numberTypes.ts";
import { readFully, useFile } from "./regularFile.ts";
import { sizeOf } from "./tensors.ts";
import { type StoredWeights, isBfloat16 } from "./weights.ts";

/** A header has about 130 bytes for each tensor, and its writer's metadata. */
const MAX_ENTRY_BYTES = 1024;
const MAX_METADATA_BYTES = 64 * 1024;
/** Far more than any model has. Limits the header to about 100 MiB. */
const MAX_TENSORS = 100_000;
const LENGTH_BYTES = 8;
const ALIGNMENT = 8;

/** The supported types, by the format's names. */
const TYPES = { F32: "f32", BF16: "bf16", F16: "f16" } as const;
export const MIN_ELEMENT_BYTES = 2;

/**
 * Encodes tensors in the safetensors format: the header's length (u64, little-endian), the header (JSON),
 * the data (little-endian). Source: github.com/huggingface/safetensors.
 * @returns the file in consecutive chunks; tensors are not copied
 */
export function writeSafetensors(weights: StoredWeights): Uint8Array[] {
  assertLittleEndian();
  const header: Record<string, unknown> = { __metadata__: { format: "pt" } };
  let offset = 0;
  for (const [name, tensor] of Object.entries(weights)) {
    const dtype: keyof typeof TYPES = isBfloat16(tensor) ? "BF16" : "F32";
    const end = offset + tensor.data.byteLength;
    header[name] = { dtype, shape: tensor.shape, data_offsets: [offset, end] };
    offset = end;
  }
  const json = Buffer.from(JSON.stringify(header));
  const padding = -json.length & (ALIGNMENT - 1);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeBigUInt64LE(BigInt(json.length + padding));
  const data = Object.values(weights).map(({ data }) => bytesOf(data));
  return [length, json, Buffer.alloc(padding, " "), ...data];
}

/** A file's header. */
export interface SafetensorsFile {
  path: string;
  size: number;
  /** Offset of the first tensor. */
  start: number;
  /** By name, in offset order. */
  tensors: ReadonlyMap<string, FileTensor>;
}

/** Whether a file is complete, by its header. */
export function isCompleteSafetensors(path: string): boolean {
  try {
    openSafetensors(path);
    return true;
  } catch {
    return false;
  }
}

/**
 * @param maxTensors the most tensors the file may have
 * @throws KitError `CHECKPOINT_INVALID` if the file has another format, is truncated or damaged, or has a header far
 * too long
 */
export function openSafetensors(path: string, maxTensors = MAX_TENSORS): SafetensorsFile {
  assertLittleEndian();
  const invalid = (problem: string, cause?: unknown) =>
    new KitError("CHECKPOINT_INVALID", `${path} ${problem}. Save or download it again.`, {
      cause,
    });
  return useFile(path, ({ file, size }) => {
    const length = Buffer.alloc(LENGTH_BYTES);
    if (!readFully(file, length, 0)) throw invalid("is not a safetensors file");
    const headerBytes = Number(length.readBigUInt64LE());
    const start = LENGTH_BYTES + headerBytes;
    if (start > size) throw invalid("is not a safetensors file, or is truncated");
    if (headerBytes > MAX_METADATA_BYTES + maxTensors * MAX_ENTRY_BYTES) {
      throw invalid(`has a header of ${headerBytes} bytes, too long for ${maxTensors} tensors`);
    }
    const bytes = Buffer.alloc(headerBytes);
    if (!readFully(file, bytes, LENGTH_BYTES)) throw invalid("is truncated in its header");
    return { path, size, start, tensors: tensorsIn(parsed(bytes.toString()), start, size) };
  });

  function parsed(header: string): Record<string, unknown> {
    let value: unknown;
    try {
      value = JSON.parse(header);
    } catch (cause) {
      throw invalid("has a damaged header", cause);
    }
    if (isRecord(value)) return value;
    throw invalid("has a damaged header");
  }

  function tensorsIn(
    { __metadata__: _, ...header }: Record<string, unknown>,
    start: number,
    size: number,
  ) {
    const found = Object.entries(header).map(([name, entry]): [string, FileTensor] => {
      if (!isEntry(entry)) throw invalid(`has a damaged entry for ${name}`);
      const { dtype, shape } = entry;
      const [from, to] = entry.data_offsets;
      const type = Object.hasOwn(TYPES, dtype) ? TYPES[dtype as keyof typeof TYPES] : dtype;
      const bytes = to - from;
      const isWrongSize = isDtype(type) ? bytes !== dtypeBytes(type, sizeOf(shape)) : bytes < 0;
      if (isWrongSize || start + to > size)
        throw invalid(`has the wrong size, or is truncated, at ${name}`);
      return [name, { path, type, shape, offset: start + from, bytes }];
    });
    found.sort(([, a], [, b]) => a.offset - b.offset || a.bytes - b.bytes);
    let end = start;
    // The format requires contiguous tensors up to the file's end.
    for (const [name, { offset, bytes }] of found) {
      if (offset !== end) throw invalid(`has a gap or an overlap at ${name}`);
      end += bytes;
    }
    if (end !== size) throw invalid("has a gap or an overlap at its end");
    return new Map(found);
  }
}

interface Entry {
  dtype: string;
  shape: number[];
  data_offsets: [number, number];
}

function isEntry(value: unknown): value is Entry {
  if (!isRecord(value)) return false;
  const { dtype, shape, data_offsets: offsets } = value;
  // The format's type names are in capitals, unlike GGUF's.
  const isType = typeof dtype === "string" && dtype === dtype.toUpperCase();
  return isType && isSizeList(shape) && isSizeList(offsets) && offsets.length === 2;
}

function isSizeList(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
}
