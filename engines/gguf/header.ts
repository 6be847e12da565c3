import { assertLittleEndian } from "../modelFiles/byteOrder.ts";
import { type NumberTypeName, NUMBER_TYPES, dtypeBytes } from "../modelFiles/numberTypes.ts";
import { sizeOf } from "../modelFiles/tensors.ts";
import { type Metadata, type Value, VALUE_IDS } from "./metadata.ts";

/** The bytes "GGUF". */
export const MAGIC = 0x46554747;
export const VERSION = 3;

/** Alignment of tensors, and of the file's size. */
export const ALIGNMENT = 32;

/** Bytes of padding that must follow `bytes` bytes. */
export function padding(bytes: number, alignment: number = ALIGNMENT): number {
  return (alignment - (bytes % alignment)) % alignment;
}

/** Bytes that a string's length takes. */
const LENGTH_BYTES = 8;

/** A tensor's entry in the header. */
export interface NamedTensor {
  name: string;
  type: NumberTypeName;
  /** [out, in], as in a checkpoint. */
  shape: readonly number[];
}

/** A tensor to write; its bytes are created on demand. */
export interface WrittenTensor extends NamedTensor {
  blocks: () => Iterable<Uint8Array>;
}

/** The bytes of a GGUF file. */
export function* ggufBlocks(
  metadata: Metadata,
  tensors: readonly WrittenTensor[],
): Iterable<Uint8Array> {
  assertLittleEndian();
  yield encodeHeader(metadata, tensors);
  for (const tensor of tensors) {
    let bytes = 0;
    for (const block of tensor.blocks()) {
      bytes += block.length;
      yield block;
    }
    if (bytes !== tensorBytes(tensor)) throw new Error(`${tensor.name} has ${bytes} bytes`);
    yield new Uint8Array(padding(bytes));
  }
}

/**
 * Encodes a GGUF file's header. The tensors follow it in the same order, each padded to the alignment.
 * Little-endian. Source: github.com/ggml-org/ggml/blob/master/docs/gguf.md.
 */
export function encodeHeader(metadata: Metadata, tensors: readonly NamedTensor[]): Uint8Array {
  const chunks: Uint8Array[] = [];
  const entries = Object.entries(metadata);
  chunks.push(uint32s(MAGIC, VERSION), uint64(tensors.length), uint64(entries.length));
  for (const [key, value] of entries) chunks.push(...text(key), ...encodeValue(value));
  let offset = 0;
  for (const { name, type, shape } of tensors) {
    chunks.push(...text(name), uint32s(shape.length));
    // Innermost dimension first.
    for (const size of shape.toReversed()) chunks.push(uint64(size));
    chunks.push(uint32s(NUMBER_TYPES[type].id), uint64(offset));
    const bytes = tensorBytes({ type, shape });
    offset += bytes + padding(bytes);
  }
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  return Buffer.concat(chunks, length + padding(length));
}

/** Bytes of a tensor, without its padding. */
export function tensorBytes({ type, shape }: Pick<NamedTensor, "type" | "shape">): number {
  return dtypeBytes(type, sizeOf(shape));
}

function encodeValue(value: Value): Uint8Array[] {
  switch (value.type) {
    case "uint32":
    case "int32":
      return [uint32s(VALUE_IDS[value.type], value.value)];
    case "float32":
      return [uint32s(VALUE_IDS.float32), bytesOf(Float32Array.of(value.value))];
    case "bool":
      return [uint32s(VALUE_IDS.bool), Uint8Array.of(value.value ? 1 : 0)];
    case "string":
      return [uint32s(VALUE_IDS.string), ...text(value.value)];
    case "strings":
      return [...arrayOf("string", value.value), texts(value.value)];
    case "float32s":
      return [...arrayOf("float32", value.value), bytesOf(Float32Array.from(value.value))];
    case "int32s":
      return [...arrayOf("int32", value.value), bytesOf(Int32Array.from(value.value))];
  }
}

function arrayOf(type: keyof typeof VALUE_IDS, { length }: readonly unknown[]): Uint8Array[] {
  return [uint32s(VALUE_IDS.array, VALUE_IDS[type]), uint64(length)];
}

function text(value: string): Uint8Array[] {
  const bytes = Buffer.from(value);
  return [uint64(bytes.length), bytes];
}

/** Encodes a list into one buffer, because a vocabulary has 100,000 entries. */
function texts(values: readonly string[]): Uint8Array {
  const bytes = Buffer.alloc(
    values.reduce((sum, value) => sum + LENGTH_BYTES + Buffer.byteLength(value), 0),
  );
  let at = 0;
  for (const value of values) {
    const length = bytes.write(value, at + LENGTH_BYTES);
    bytes.writeUInt32LE(length, at);
    at += LENGTH_BYTES + length;
  }
  return bytes;
}

function uint32s(...values: number[]): Uint8Array {
  return bytesOf(Uint32Array.from(values));
}

function uint64(value: number): Uint8Array {
  return bytesOf(BigUint64Array.of(BigInt(value)));
}

/** Bytes in machine order, which `assertLittleEndian` has checked. */
function bytesOf({ buffer }: { buffer: ArrayBuffer }): Uint8Array {
  return new Uint8Array(buffer);
}
