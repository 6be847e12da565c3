import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { KitError } from "../../protocol/error.ts";
import { configCopies, tokenizerCopies } from "../checkpoint/companions.ts";
import { hasOwnHead } from "../checkpoint/ownHead.ts";
import { weightFiles } from "../checkpoint/savedModel.ts";
import { promptStyleOf, tokenizerSettings } from "../checkpoint/savedTokenizer.ts";
import { heldTexts } from "../checkpoint/textFiles.ts";
import { TIED } from "../families/config.ts";
import { modelNames } from "../families/storedNames.ts";
import { type Update, addUpdate } from "../lora/adapter.ts";
import { findBase } from "../lora/base.ts";
import { type SavedAdapter, ADAPTER_CONFIG, adapterOf } from "../lora/peftConfig.ts";
import { openUpdates } from "../lora/updates.ts";
import { readConfig } from "../modelFiles/configFile.ts";
import { CONFIG_FILE, WEIGHTS_INDEX } from "../modelFiles/names.ts";
import { NUMBER_BYTES, NUMBER_TYPES } from "../modelFiles/numberTypes.ts";
import { readWhole } from "../modelFiles/plainFile.ts";
import { type Entry, LENGTH_BYTES, hasNumbers, numbersOf } from "../modelFiles/safetensors.ts";
import { type PlacedEntry, type TensorList, listTensors } from "../modelFiles/tensorFiles.ts";
import { areFinite } from "../modelFiles/weights.ts";

/** A whole model to export. An adapter's updates are added to its tensors as they are read. */
export interface ExportSource {
  /** Directory of the whole model. */
  model: string;
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
  /** The same rows in float32, an update not rounded. @throws KitError as `blocks` */
  numbers: () => Generator<Float32Array<ArrayBuffer>>;
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
  const trainedWith = hasTokenizer ? checkpoint : model;
  const tokenizer = tokenizerCopies(trainedWith, promptStyleOf(checkpoint));
  const asBefore = heldTexts(model, { ...configCopies(model, { ends: [] }), ...tokenizer });
  const { ends } = tokenizerSettings(asBefore);
  const index = join(model, WEIGHTS_INDEX);
  return {
    model,
    companions: {
      ...configCopies(model, {
        ends: ends.all,
        ...(isUntied(model, lists) && { changes: { [TIED]: false } }),
      }),
      ...tokenizer,
      ...(label === index && { [WEIGHTS_INDEX]: readFileSync(index) }),
    },
    files: lists.map((list) => openFile(list, updateOf)),
  };
}

/** Whether a model has a head of its own without saying so, which not every program finds out. */
function isUntied(model: string, lists: (TensorList & { path: string })[]): boolean {
  const stored = new Map<string, PlacedEntry>(
    lists.flatMap(({ path, entries }) =>
      [...entries].map(([name, entry]) => [name, { path, entry }] as const),
    ),
  );
  const nameOf = modelNames(new Set(stored.keys()), false);
  const placed = new Map([...stored].map(([name, entry]) => [nameOf(name), entry]));
  const { [TIED]: tied } = readConfig(join(model, CONFIG_FILE));
  return tied !== false && hasOwnHead((name) => placed.get(name));
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
        yield {
          ...{ name, ...entry },
          blocks: () => blocksOf(file, name, entry),
          numbers: () => numbersIn(file, name, entry),
        };
      }
    } finally {
      closeSync(file);
    }
  }

  function* blocksOf(file: number, name: string, entry: Entry): Generator<Uint8Array> {
    const update = updateOf(name);
    if (update) {
      for (const data of merged(file, name, entry, update)) yield rounded(data, name, entry);
    } else {
      for (const block of rowsOf(file, entry)) {
        if (hasNumbers(entry)) assertFinite(NUMBER_TYPES[entry.dtype].decode(block.buffer), name);
        yield block;
      }
    }
  }

  function* numbersIn(file: number, name: string, entry: Entry): Generator<Numbers> {
    const update = updateOf(name);
    if (update) {
      yield* merged(file, name, entry, update);
      return;
    }
    const { decode } = NUMBER_TYPES[numbersOf(name, entry, path).dtype];
    for (const block of rowsOf(file, entry)) {
      const data = decode(block.buffer);
      assertFinite(data, name);
      yield data;
    }
  }

  /** Whole rows, about a million numbers of them. */
  function* rowsOf(file: number, entry: Entry): Generator<Uint8Array<ArrayBuffer>> {
    const { data_offsets: offsets } = entry;
    const bytes = rowsAtOnce(entry) * columnsOf(entry) * numberBytes(entry);
    const [begin, end] = [start + offsets[0], start + offsets[1]];
    for (let at = begin; at < end; at += bytes) yield read(file, at, Math.min(at + bytes, end));
  }

  function* merged(file: number, name: string, entry: Entry, update: Update): Generator<Numbers> {
    const { decode } = NUMBER_TYPES[numbersOf(name, entry, path).dtype];
    const rows = rowsAtOnce(entry);
    let row = 0;
    for (const block of rowsOf(file, entry)) {
      const data = decode(block.buffer);
      addUpdate(data, partOf(update, row, rows));
      if (!areFinite(data)) throw notFinite(name);
      yield data;
      row += rows;
    }
  }

  function rounded(data: Numbers, name: string, entry: Entry): Uint8Array {
    const { decode, encode } = NUMBER_TYPES[numbersOf(name, entry, path).dtype];
    const numbers = encode(data);
    if (!areFinite(decode(numbers.buffer))) throw notFinite(name);
    return new Uint8Array(numbers.buffer);
  }

  function notFinite(name: string): KitError {
    return refused(`With its adapter, ${name} of ${path} is not finite in its type`);
  }

  function assertFinite(data: Numbers, name: string): void {
    if (areFinite(data)) return;
    throw new KitError(
      "CHECKPOINT_INVALID",
      `${path} has non-finite numbers in ${name}. Save or download it again.`,
    );
  }

  return { ...list, header, tensors };
}

function columnsOf({ shape }: Entry): number {
  return shape.at(-1) ?? 1;
}

function rowsAtOnce(entry: Entry): number {
  return Math.max(1, Math.floor(BLOCK_NUMBERS / columnsOf(entry)));
}

function numberBytes(entry: Entry): number {
  return hasNumbers(entry) ? NUMBER_BYTES[entry.dtype] : 1;
}

/** The update of so many rows. */
function partOf(update: Update, row: number, rows: number): Update {
  const { r, b } = update;
  return { ...update, b: b.subarray(row * r, (row + rows) * r) };
}

type Numbers = Float32Array<ArrayBuffer>;

function refused(problem: string): KitError {
  return new KitError("CHECKPOINT_INVALID", `${problem}. Use another checkpoint.`);
}
