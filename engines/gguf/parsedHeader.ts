import { KitError } from "../../protocol/error.ts";
import { printable } from "../../protocol/printable.ts";
import type { FileTensor } from "../modelFiles/fileTensors.ts";
import { MAX_TOKENIZER_MIB } from "../modelFiles/names.ts";
import { NUMBER_TYPES, typeOfId } from "../modelFiles/numberTypes.ts";
import type { OpenFile } from "../modelFiles/regularFile.ts";
import { type Cursor, createCursor } from "./cursor.ts";
import { type NamedTensor, ALIGNMENT, MAGIC, VERSION, padding, tensorBytes } from "./header.ts";
import { FILE_KEYS, KEYS, VALUE_IDS } from "./metadata.ts";

interface Entry extends NamedTensor {
  shape: number[];
  /** In bytes, from the first tensor's start. */
  offset: number;
}

export interface ParsedHeader {
  /** Values of the keys that Kit reads. */
  values: ReadonlyMap<string, string | number>;
  tensors: ReadonlyMap<string, FileTensor>;
}

/** More than any model has. */
const MAX_KEYS = 10_000;
const MAX_TENSORS = 100_000;
/** ggml's own limits. */
const MAX_NAME_BYTES = 64;
const MAX_KEY_BYTES = 65_535;
const MAX_DIMENSIONS = 4;
const MAX_ALIGNMENT = 65_536;
/** Minimum bytes of a key with its value, and of a tensor's entry. */
const MIN_ENTRY_BYTES = { key: 8 + 4 + 1, tensor: 8 + 4 + 4 + 8 };

const READ_KEYS = new Set<string>([...Object.values(KEYS), ...Object.values(FILE_KEYS)]);

/** Bytes of a value, by GGUF's type id; strings and arrays vary. */
const VALUE_BYTES: Record<number, number> = {
  [VALUE_IDS.uint8]: 1,
  [VALUE_IDS.int8]: 1,
  [VALUE_IDS.uint16]: 2,
  [VALUE_IDS.int16]: 2,
  [VALUE_IDS.uint32]: 4,
  [VALUE_IDS.int32]: 4,
  [VALUE_IDS.float32]: 4,
  [VALUE_IDS.bool]: 1,
  [VALUE_IDS.uint64]: 8,
  [VALUE_IDS.int64]: 8,
  [VALUE_IDS.float64]: 8,
};

/**
 * Reads a GGUF file's header and checks it against the file's size.
 * @throws KitError `CHECKPOINT_INVALID`
 */
export function parseHeader(path: string, { file, size }: OpenFile): ParsedHeader {
  const invalid = (problem: string) =>
    new KitError("CHECKPOINT_INVALID", `${path} ${problem}. Export or download it again.`);
  const truncated = () => invalid("is truncated in its header, or damaged");
  const cursor = createCursor(file, size, truncated);
  if (cursor.remaining() < 8 || cursor.uint32() !== MAGIC) throw invalid("is not a GGUF file");
  const version = cursor.uint32();
  if (version !== VERSION && version !== 2) {
    throw invalid(`is GGUF of version ${version}, not ${VERSION}`);
  }
  const tensorCount = cursor.uint64(Math.floor(cursor.remaining() / MIN_ENTRY_BYTES.tensor));
  const keyCount = cursor.uint64(Math.floor(cursor.remaining() / MIN_ENTRY_BYTES.key));
  if (tensorCount > MAX_TENSORS || keyCount > MAX_KEYS) {
    throw invalid(`claims ${tensorCount} tensors and ${keyCount} keys, more than any model has`);
  }

  const values = new Map<string, string | number>();
  const keys = new Set<string>();
  for (let i = 0; i < keyCount; i++) {
    const key = text(cursor, MAX_KEY_BYTES);
    if (keys.has(key)) throw invalid(`has the key ${printable(key)} twice`);
    keys.add(key);
    const value = valueOf(cursor, READ_KEYS.has(key));
    if (value !== undefined) values.set(key, value);
  }
  const alignment = values.get(KEYS.alignment) ?? ALIGNMENT;
  if (typeof alignment !== "number" || !isAlignment(alignment)) {
    throw invalid(`has an alignment that is not a power of two up to ${MAX_ALIGNMENT}`);
  }

  const entries = Array.from({ length: tensorCount }, () => tensorOf(cursor));
  const dataStart = cursor.position() + padding(cursor.position(), alignment);
  const tensors = new Map<string, FileTensor>();
  let end = 0;
  for (const { name, offset, ...tensor } of entries) {
    const bytes = tensorBytes(tensor);
    if (tensors.has(name)) throw invalid(`has the tensor ${printable(name)} twice`);
    // The format requires contiguous tensors.
    if (offset !== end) throw invalid(`has a gap or an overlap at ${printable(name)}`);
    if (dataStart + offset + bytes > size) throw invalid(`is truncated at ${printable(name)}`);
    tensors.set(name, { ...tensor, path, offset: dataStart + offset, bytes });
    end = offset + bytes + padding(bytes, alignment);
  }
  if (size > dataStart + end) throw invalid("has data after its last tensor");
  return { values, tensors };

  function text(from: Cursor, maxBytes: number): string {
    const length = from.uint64(from.remaining());
    if (length > maxBytes) throw invalid(`has a text of ${length} bytes, too long for its purpose`);
    return from.bytes(length).toString();
  }

  /** Undefined for unwanted keys and for arrays. */
  function valueOf(from: Cursor, isWanted: boolean): string | number | undefined {
    const type = from.uint32();
    if (type === VALUE_IDS.string) {
      if (isWanted) return text(from, MAX_TOKENIZER_MIB * 2 ** 20);
      from.skip(from.uint64(from.remaining()));
      return undefined;
    }
    if (type === VALUE_IDS.array) {
      skipArray(from);
      return undefined;
    }
    const bytes = VALUE_BYTES[type];
    if (bytes === undefined) throw invalid(`has a value of the unknown type ${type}`);
    const value = from.bytes(bytes);
    return isWanted && type === VALUE_IDS.uint32 ? value.readUInt32LE() : undefined;
  }

  function skipArray(from: Cursor): void {
    const type = from.uint32();
    if (type === VALUE_IDS.string) {
      const count = from.uint64(Math.floor(from.remaining() / 8));
      for (let i = 0; i < count; i++) from.skip(from.uint64(from.remaining()));
      return;
    }
    const bytes = VALUE_BYTES[type];
    if (bytes === undefined) throw invalid(`has an array of the unknown type ${type}`);
    from.skip(from.uint64(Math.floor(from.remaining() / bytes)) * bytes);
  }

  function tensorOf(from: Cursor): Entry {
    const name = text(from, MAX_NAME_BYTES);
    const dimensions = from.uint32();
    if (dimensions < 1 || dimensions > MAX_DIMENSIONS) {
      throw invalid(`gives ${printable(name)} ${dimensions} dimensions`);
    }
    let count = 1;
    const shape = Array.from({ length: dimensions }, () => {
      // A number takes at least half a byte.
      const length = from.uint64(2 * size);
      count *= length;
      if (length < 1 || count > 2 * size)
        throw invalid(`gives ${printable(name)} an impossible size`);
      return length;
    }).toReversed();
    const id = from.uint32();
    const type = typeOfId(id);
    if (!type) {
      const known = Object.keys(NUMBER_TYPES).join(", ");
      throw new KitError(
        "CHECKPOINT_INVALID",
        `${path} has ${printable(name)} in ggml's type ${id}, and Kit reads ${known}. Use a file of one of these types, or the model's original folder.`,
      );
    }
    if (shape.at(-1)! % NUMBER_TYPES[type].block !== 0) {
      throw invalid(`has rows of ${printable(name)} that are not whole blocks of ${type}`);
    }
    return { name, type, shape, offset: from.uint64(size) };
  }
}

function isAlignment(value: number): boolean {
  return value >= 1 && value <= MAX_ALIGNMENT && (value & (value - 1)) === 0;
}
