import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { KitError } from "../../protocol/error.ts";
import { configCopies, tokenizerCopies } from "../checkpoint/companions.ts";
import { weightFiles } from "../checkpoint/savedModel.ts";
import { promptStyleOf } from "../checkpoint/savedTokenizer.ts";
import { type Update, addUpdate } from "../lora/adapter.ts";
import { findBase } from "../lora/base.ts";
import { type SavedAdapter, ADAPTER_CONFIG, adapterOf } from "../lora/peftConfig.ts";
import { openUpdates } from "../lora/updates.ts";
import { readConfig } from "../modelFiles/configFile.ts";
import { fromFloat16, toFloat16 } from "../modelFiles/float16.ts";
import { WEIGHTS_INDEX } from "../modelFiles/names.ts";
import { readWhole } from "../modelFiles/plainFile.ts";
import {
  type Entry,
  type NumberType,
  LENGTH_BYTES,
  NUMBER_BYTES,
  hasNumbers,
  numbersOf,
} from "../modelFiles/safetensors.ts";
import { type TensorList, listTensors } from "../modelFiles/tensorFiles.ts";
import { areFinite, fromBfloat16, toBfloat16 } from "../modelFiles/weights.ts";

/** A whole model to export. An adapter's updates are added to its tensors as they are read. */
export interface ExportSource {
  /** All but the weights, by their names: the model's config, and the tokenizer that it was trained with. */
  companions: Record<string, string | Uint8Array>;
  /** In the order in which the model names them. */
  files: SourceFile[];
}

/** A file of weights. */
export interface SourceFile extends TensorList {
  path: string;
  /** The bytes before its tensors. */
  header: () => Uint8Array;
  /** One after another, in the order of their bytes. Each is read before the next is asked for. */
  tensors: () => Generator<SourceTensor>;
}

export interface SourceTensor extends Entry {
  name: string;
  /**
   * Its bytes in its own type, whole rows of about a million numbers at a time: an update is added in
   * float32 and rounded to that type.
   * @throws KitError `CHECKPOINT_INVALID` when it is cut off, cannot be updated because of its type, or is
   * not finite, with its update or without one
   */
  blocks: () => Generator<Uint8Array>;
}

/**
 * @param checkpoint directory of a model, or of an adapter whose base is on this disk
 * @throws KitError `CHECKPOINT_INVALID`
 */
export function openSource(checkpoint: string): ExportSource {
  const { model, adapter } = findModel(checkpoint);
  const { label, files: paths } = weightFiles(model);
  const lists = paths.map((path) => ({ path, ...listTensors(path) }));
  const updateOf = adapter
    ? openUpdates(checkpoint, adapter, { directory: model, lists })
    : () => undefined;
  const hasTokenizer = existsSync(join(checkpoint, "tokenizer.json"));
  const index = join(model, WEIGHTS_INDEX);
  return {
    companions: {
      ...configCopies(model),
      ...tokenizerCopies(hasTokenizer ? checkpoint : model, promptStyleOf(checkpoint)),
      ...(label === index && { [WEIGHTS_INDEX]: readFileSync(index) }),
    },
    files: lists.map((list) => openFile(list, updateOf)),
  };
}

/** The directory of a checkpoint's whole model, and the adapter to it. */
function findModel(checkpoint: string): { model: string; adapter?: SavedAdapter } {
  const path = join(checkpoint, ADAPTER_CONFIG);
  const config = readConfig(path, "optional");
  if (!config) return { model: checkpoint };
  const adapter = adapterOf(path, config);
  return { model: findBase(checkpoint, adapter.base), adapter };
}

/** Numbers that are in memory at once, unless a single row has more. */
const BLOCK_NUMBERS = 2 ** 20;

type UpdateOf = (name: string) => Update | undefined;

function openFile(list: TensorList & { path: string }, updateOf: UpdateOf): SourceFile {
  const { path, headerBytes, entries } = list;
  const start = LENGTH_BYTES + headerBytes;

  function read(file: number, begin: number, end: number): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(end - begin);
    if (!readWhole(file, bytes, begin)) throw refused(`${path} is cut off`);
    return bytes;
  }

  function header(): Uint8Array {
    const file = openSync(path, "r");
    try {
      return read(file, 0, start);
    } finally {
      closeSync(file);
    }
  }

  function* tensors(): Generator<SourceTensor> {
    const file = openSync(path, "r");
    const inOrder = [...entries].toSorted(
      ([, { data_offsets: a }], [, { data_offsets: b }]) => a[0] - b[0],
    );
    try {
      for (const [name, entry] of inOrder) {
        yield { name, ...entry, blocks: () => blocksOf(file, name, entry) };
      }
    } finally {
      closeSync(file);
    }
  }

  function* blocksOf(file: number, name: string, entry: Entry): Generator<Uint8Array> {
    const { shape, data_offsets: offsets } = entry;
    const update = updateOf(name);
    const columns = shape.at(-1) ?? 1;
    const rows = Math.max(1, Math.floor(BLOCK_NUMBERS / columns));
    const bytes = rows * columns * (hasNumbers(entry) ? NUMBER_BYTES[entry.dtype] : 1);
    const [begin, end] = [start + offsets[0], start + offsets[1]];
    for (let at = begin, row = 0; at < end; at += bytes, row += rows) {
      const block = read(file, at, Math.min(at + bytes, end));
      yield update
        ? merged(block, name, entry, partOf(update, row, rows))
        : finite(block, name, entry);
    }
  }

  function finite(block: Uint8Array<ArrayBuffer>, name: string, entry: Entry): Uint8Array {
    if (!hasNumbers(entry) || areFinite(TYPES[entry.dtype].decode(block.buffer))) return block;
    throw new KitError(
      "CHECKPOINT_INVALID",
      `${path} has non-finite numbers in ${name}. Save or download it again.`,
    );
  }

  function merged(
    block: Uint8Array<ArrayBuffer>,
    name: string,
    entry: Entry,
    update: Update,
  ): Uint8Array {
    const { decode, encode } = TYPES[numbersOf(name, entry, path).dtype];
    const data = decode(block.buffer);
    addUpdate(data, update);
    const rounded = encode(data);
    if (areFinite(decode(rounded.buffer))) return new Uint8Array(rounded.buffer);
    throw refused(`With its adapter, ${name} of ${path} is not finite in its type`);
  }

  return { ...list, header, tensors };
}

/** The update of so many rows. */
function partOf(update: Update, row: number, rows: number): Update {
  const { r, b } = update;
  return { ...update, b: b.subarray(row * r, (row + rows) * r) };
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

function refused(problem: string): KitError {
  return new KitError("CHECKPOINT_INVALID", `${problem}. Use another checkpoint.`);
}
