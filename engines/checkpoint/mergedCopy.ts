import { closeSync, fsync, openSync } from "node:fs";
import { promisify } from "node:util";
import { OTHERS_READ } from "../../disk/modes.ts";
import { KitError } from "../../protocol/error.ts";
import { type Update, addUpdate } from "../families/adapter.ts";
import { areFinite, fromBfloat16, toBfloat16 } from "../families/storedWeights.ts";
import { fromFloat16, toFloat16 } from "./float16.ts";
import { readWhole, writeWhole } from "./plainFile.ts";
import {
  type Entry,
  type NumberType,
  LENGTH_BYTES,
  NUMBER_BYTES,
  hasNumbers,
  numbersOf,
  useSafetensors,
} from "./safetensors.ts";

/** The tensors of a file, by their names. */
export interface TensorList {
  headerBytes: number;
  entries: Map<string, Entry>;
}

/** Far more than a model has; their header takes 100 MiB. */
const MOST_TENSORS = 100_000;

/** @throws KitError `CHECKPOINT_INVALID` when the file is missing or damaged */
export function listTensors(path: string): TensorList {
  return useSafetensors(path, ({ headerBytes, entries }) => ({
    headerBytes,
    entries: entries(MOST_TENSORS),
  }));
}

/** Numbers that are in memory at once, unless a single row has more. */
const BLOCK_NUMBERS = 2 ** 20;

interface CopyOptions {
  /** The change of a tensor; of most, none. */
  updateOf: (name: string) => Update | undefined;
  /** Is awaited between blocks. */
  pause: () => Promise<void>;
}

/**
 * Copies a safetensors file with an adapter's updates added to its tensors: in float32, and rounded to
 * the type that each has. A block of a tensor is in memory at a time.
 * @param list of `from`
 * @throws KitError `CHECKPOINT_INVALID` when a tensor is cut off, cannot be updated because of its type, or
 * is not finite, with its update or without one
 */
export async function copyMerged(
  from: string,
  to: string,
  { headerBytes, entries }: TensorList,
  { updateOf, pause }: CopyOptions,
): Promise<void> {
  const start = LENGTH_BYTES + headerBytes;
  const input = openSync(from, "r");
  const output = openSync(to, "wx", OTHERS_READ);

  async function copyBytes(begin: number, end: number, change = unchanged): Promise<void> {
    const bytes = new Uint8Array(end - begin);
    if (!readWhole(input, bytes, begin)) throw refused(`${from} is cut off`);
    writeWhole(output, change(bytes));
    await pause();
  }

  async function copyTensor(name: string, entry: Entry): Promise<void> {
    const { shape, data_offsets: offsets } = entry;
    const update = updateOf(name);
    const columns = shape.at(-1) ?? 1;
    const rows = Math.max(1, Math.floor(BLOCK_NUMBERS / columns));
    const bytes = rows * columns * (hasNumbers(entry) ? NUMBER_BYTES[entry.dtype] : 1);
    const [begin, end] = [start + offsets[0], start + offsets[1]];
    for (let at = begin, row = 0; at < end; at += bytes, row += rows) {
      await copyBytes(at, Math.min(at + bytes, end), (read) => {
        if (!update) {
          if (!hasNumbers(entry) || areFinite(TYPES[entry.dtype].decode(read.buffer))) return read;
          throw new KitError(
            "CHECKPOINT_INVALID",
            `${from} has non-finite numbers in ${name}. Save or download it again.`,
          );
        }
        const { dtype } = numbersOf(name, entry, from);
        const { r, b } = update;
        const ofRows = { ...update, b: b.subarray(row * r, (row + rows) * r) };
        const merged = mergedRows(read, dtype, ofRows);
        if (merged) return merged;
        throw refused(`With its adapter, ${name} of ${from} is not finite in its type`);
      });
    }
  }

  try {
    await copyBytes(0, start);
    const inOrder = [...entries].toSorted(
      ([, { data_offsets: a }], [, { data_offsets: b }]) => a[0] - b[0],
    );
    for (const [name, entry] of inOrder) await copyTensor(name, entry);
    // In the background: a large file takes longer than others take this process for alive.
    await promisify(fsync)(output);
  } finally {
    closeSync(input);
    closeSync(output);
  }
}

/** Adds an update to rows of a type, which become that type again. Undefined unless all are finite. */
function mergedRows(rows: Uint8Array<ArrayBuffer>, dtype: NumberType, update: Update) {
  const { decode, encode } = TYPES[dtype];
  const data = decode(rows.buffer);
  addUpdate(data, update);
  const merged = encode(data);
  return areFinite(decode(merged.buffer)) ? new Uint8Array(merged.buffer) : undefined;
}

type Numbers = Float32Array<ArrayBuffer>;

const TYPES: Record<
  NumberType,
  {
    decode: (bytes: ArrayBuffer) => Numbers;
    encode: (data: Numbers) => Numbers | Uint16Array<ArrayBuffer>;
  }
> = {
  F32: { decode: (bytes) => new Float32Array(bytes), encode: (data) => data },
  BF16: {
    decode: (bytes) => fromBfloat16(new Uint16Array(bytes)),
    encode: toBfloat16,
  },
  F16: { decode: (bytes) => fromFloat16(new Uint16Array(bytes)), encode: toFloat16 },
};

function unchanged(bytes: Uint8Array<ArrayBuffer>): Uint8Array {
  return bytes;
}

function refused(problem: string): KitError {
  return new KitError("CHECKPOINT_INVALID", `${problem}. Use another checkpoint.`);
}
