import { EngineError } from "../error.ts";
import type { Tensor, Weights } from "../llama/weights.ts";

const LENGTH_BYTES = 8;
const ALIGNMENT = 8;
const FLOAT_BYTES = 4;

/**
 * Tensors in the safetensors format: the header's length (u64, little-endian), the header (JSON),
 * the data (float32, little-endian). Source: github.com/huggingface/safetensors.
 */
export function writeSafetensors(weights: Weights): Buffer {
  const header: Record<string, unknown> = { __metadata__: { format: "pt" } };
  let offset = 0;
  for (const [name, { shape, data }] of Object.entries(weights)) {
    header[name] = { dtype: "F32", shape, data_offsets: [offset, offset + data.byteLength] };
    offset += data.byteLength;
  }
  const json = Buffer.from(JSON.stringify(header));
  const padding = -json.length & (ALIGNMENT - 1);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeBigUInt64LE(BigInt(json.length + padding));
  const data = Object.values(weights).map(({ data }) => toBytes(data));
  return Buffer.concat([length, json, Buffer.alloc(padding, " "), ...data]);
}

/**
 * @param file names the source in errors
 * @throws EngineError `CHECKPOINT_INVALID` when it is cut off, or has a tensor that is not float32
 */
export function readSafetensors(bytes: Uint8Array, file: string): Weights {
  const invalid = (problem: string, cause?: unknown) =>
    new EngineError("CHECKPOINT_INVALID", `${file} ${problem}: use a checkpoint that Kit saved.`, {
      cause,
    });
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < LENGTH_BYTES) throw invalid("is not a safetensors file");
  const start = LENGTH_BYTES + Number(view.getBigUint64(0, true));
  if (start > bytes.length) throw invalid("is not a safetensors file, or is cut off");
  let header: Record<string, unknown>;
  try {
    const json = new TextDecoder().decode(bytes.subarray(LENGTH_BYTES, start));
    header = JSON.parse(json) as Record<string, unknown>;
  } catch (cause) {
    throw invalid("has a damaged header", cause);
  }
  const weights: Weights = {};
  for (const [name, entry] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    if (!isEntry(entry)) throw invalid(`has a damaged entry for ${name}`);
    if (entry.dtype !== "F32") throw invalid(`stores ${name} as ${entry.dtype}, not F32`);
    const [from, to] = entry.data_offsets;
    const size = entry.shape.reduce((product, length) => product * length, 1);
    if (to - from !== size * FLOAT_BYTES || start + to > bytes.length) {
      throw invalid(`is cut off at ${name}`);
    }
    weights[name] = { shape: entry.shape, data: toFloats(bytes, start + from, size) };
  }
  return weights;
}

interface Entry {
  dtype: string;
  shape: number[];
  data_offsets: [number, number];
}

function isEntry(value: unknown): value is Entry {
  if (typeof value !== "object" || value === null) return false;
  const { dtype, shape, data_offsets: offsets } = value as Partial<Record<keyof Entry, unknown>>;
  const sizes = (list: unknown) =>
    Array.isArray(list) && list.every((size) => Number.isInteger(size) && size >= 0);
  return typeof dtype === "string" && sizes(shape) && sizes(offsets);
}

/** Every platform that Node runs on with WebAssembly is little-endian, as the format is. */
function toBytes(data: Tensor["data"]): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

function toFloats(bytes: Uint8Array, start: number, size: number): Tensor["data"] {
  // A copy, because the data need not be aligned.
  const copy = new Uint8Array(size * FLOAT_BYTES);
  copy.set(bytes.subarray(start, start + copy.length));
  return new Float32Array(copy.buffer);
}
