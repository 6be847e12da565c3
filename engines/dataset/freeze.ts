import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { OWNER_ONLY } from "../../disk/modes.ts";
import { cannotWrite } from "../../protocol/cannotWrite.ts";
import type { DatasetCode, DatasetConfig, FileType } from "../../protocol/dataset.ts";
import { KitError, isKitError } from "../../protocol/error.ts";
import { isUrl } from "../../protocol/url.ts";
import { datasetFiles } from "./files.ts";
import { createIgnoredKeys } from "./ignoredKeys.ts";
import { readLines, refuseLongRow } from "./lines.ts";
import { type Places, createPlaces } from "./places.ts";
import { createReadingNotes } from "./readingNotes.ts";
import { isTooDeep, nestedTooDeeply } from "./row.ts";
import type { RowForm } from "./rowForm.ts";
import { nameOf } from "./rows.ts";
import { type TableForms, formOf, mapRow, neededColumns } from "./tables/columns.ts";
import { type TableRow, invalid } from "./tables/tableRow.ts";
import { readTable, tableColumns } from "./tables/tables.ts";

/** Lets timers run: a job renews its lease. */
const ROWS_AT_ONCE = 1_000;
const CHUNK_CHARACTERS = 2 ** 18;

/** A dataset whose files are on this disk, or that the project's code makes. */
export interface FileDataset extends Pick<DatasetConfig, "path" | "columns" | "isMapped"> {
  type: FileType | "code";
}

export interface FreezeOptions {
  /** The dataset as sentences name it. */
  name: string;
  form: RowForm<object>;
  /** Takes lines for people: how columns become rows, how far the reading has come, keys that are ignored. */
  onNote: (text: string) => void;
  signal?: AbortSignal | undefined;
}

/**
 * Writes the rows of any dataset to a JSONL file, each checked, one at a time: what every engine then reads.
 * @returns where each of its lines comes from
 * @throws KitError `DATASET_UNREADABLE`, `DATASET_INVALID` with where it is wrong, `CANNOT_WRITE`; what
 * the project's code throws
 */
export async function freezeDataset(
  dataset: FileDataset,
  code: DatasetCode,
  path: string,
  options: FreezeOptions,
): Promise<Places> {
  const { name, form, onNote, signal = new AbortController().signal } = options;
  const ignored = createIgnoredKeys();
  const noteReading = createReadingNotes(onNote);
  const places = createPlaces();
  const file = createWriter(path);
  let rows = 0;
  try {
    for await (const record of untilAborted(recordsOf(dataset, code, options), signal)) {
      const value = await valueOf(record, dataset, code, options);
      if (value === undefined) continue;
      const row = form.parse(asJson(value, record.where), record.where, ignored);
      const line = JSON.stringify(row);
      refuseLongRow(Buffer.byteLength(line), record.where);
      places.add(record.where);
      noteReading(++rows, file.write(`${line}\n`), 0);
      if (rows % ROWS_AT_ONCE === 0) await setImmediate();
    }
    if (rows === 0) throw new KitError("DATASET_INVALID", `${name} has no rows. Add some.`);
    file.finish();
  } catch (error) {
    file.discard();
    throw error;
  }
  const note = ignored.note(name);
  if (note !== undefined) onNote(note);
  return places;
}

/** What becomes a row; undefined for a record that is left out. */
async function valueOf(
  { value, where, isFirst }: DatasetRecord,
  { type, path, columns }: FileDataset,
  { map }: DatasetCode,
  { form: { columns: forms }, onNote }: FreezeOptions,
): Promise<unknown> {
  const mapped: unknown = map ? await map(value) : value;
  // JSON has no undefined.
  if (mapped === undefined || mapped === null) return undefined;
  if (type === "code" || (map && !columns)) return mapped;
  const record = mapped as Record<string, unknown>;
  if (isFirst) {
    const form = formOf(Object.keys(record), nameOf(path), columns, forms);
    // Names that are Kit's own need no words.
    if (/→/.test(form)) onNote(form);
  }
  return mapRow(record, where, columns, forms);
}

interface DatasetRecord extends TableRow {
  isFirst: boolean;
}

async function* recordsOf(
  dataset: FileDataset,
  { rows }: DatasetCode,
  { name, form }: FreezeOptions,
): AsyncGenerator<DatasetRecord> {
  let isFirst = true;
  if (dataset.type === "code") {
    const made: unknown = typeof rows === "function" ? await rows() : rows;
    if (!isIterable(made)) {
      throw new KitError(
        "DATASET_INVALID",
        `The function of ${name} returned no rows. Return an array of rows, or write it as async function* and yield them.`,
      );
    }
    let number = 0;
    for await (const value of made) {
      yield { value, where: `${name}, row ${++number}`, isFirst };
      isFirst = false;
    }
    return;
  }
  for (const file of datasetFiles(dataset.path)) {
    if (isUrl(file)) throw onlyAsJsonl(file);
    for await (const record of readFile({ ...dataset, forms: form.columns }, dataset.type, file)) {
      yield { ...record, isFirst };
      isFirst = false;
    }
  }
}

async function* readFile(
  { columns, isMapped, forms }: FileDataset & { forms: TableForms },
  type: FileType,
  file: string,
): AsyncGenerator<TableRow> {
  if (type === "jsonl") {
    yield* readLines(file, parseLine);
    return;
  }
  if (isMapped) {
    yield* readTable(type, file);
    return;
  }
  const names = await tableColumns(type, file);
  // Another file may have rows.
  if (names.length > 0) yield* readTable(type, file, neededColumns(names, file, columns, forms));
}

function parseLine(text: string, where: string): TableRow {
  try {
    return { value: JSON.parse(text) as TableRow["value"], where };
  } catch (cause) {
    throw invalid(where, "not valid JSON. Write a JSON object on each line.", cause);
  }
}

function onlyAsJsonl(url: string): KitError {
  return new KitError(
    "DATASET_INVALID",
    `Kit reads ${url} on the cluster's workers alone, as JSONL with rows of its own. Leave out columns and map, or name a file that you have downloaded.`,
  );
}

function isIterable(value: unknown): value is AsyncIterable<TableRow["value"]> {
  if (typeof value !== "object" || value === null) return false;
  const { [Symbol.asyncIterator]: later, [Symbol.iterator]: now } = value as Partial<
    AsyncIterable<unknown> & Iterable<unknown>
  >;
  return typeof (later ?? now) === "function";
}

function asJson(value: unknown, where: string): string {
  try {
    return String(JSON.stringify(value));
  } catch (cause) {
    if (isTooDeep(cause)) throw nestedTooDeeply(where, cause);
    throw invalid(
      where,
      "has a value that JSON does not have, such as a BigInt. Make it a number or a string.",
      cause,
    );
  }
}

/** Ends at once when the signal is aborted, whatever the other side waits for. */
async function* untilAborted<T>(all: AsyncGenerator<T>, signal: AbortSignal): AsyncGenerator<T> {
  let giveUp: (reason: unknown) => void = () => undefined;
  const onAbort = () => giveUp(signal.reason);
  signal.addEventListener("abort", onAbort);
  try {
    for (;;) {
      signal.throwIfAborted();
      // A race with one promise for all rows would keep something of each.
      const next = await new Promise<IteratorResult<T, unknown>>((resolve, reject) => {
        giveUp = reject;
        all.next().then(resolve, reject);
      });
      if (next.done) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    // Closes files. The project's code may never come back.
    void all.return(undefined).catch(() => undefined);
  }
}

/** A file that is there once it is whole. */
function createWriter(path: string) {
  const partial = `${path}.partial`;
  const orCannotWrite = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw isKitError(error) ? error : cannotWrite(`write ${path}`, error);
    }
  };
  const file = orCannotWrite(() => openSync(partial, "w", OWNER_ONLY));
  let waiting = "";
  let bytes = 0;
  let isOpen = true;

  function flush(): void {
    const chunk = Buffer.from(waiting);
    waiting = "";
    for (let at = 0; at < chunk.length;) at += writeSync(file, chunk, at);
  }

  function close(): void {
    if (isOpen) closeSync(file);
    isOpen = false;
  }

  return {
    /** @returns all bytes so far */
    write(text: string): number {
      waiting += text;
      bytes += Buffer.byteLength(text);
      if (waiting.length >= CHUNK_CHARACTERS) orCannotWrite(flush);
      return bytes;
    },
    finish(): void {
      orCannotWrite(() => {
        flush();
        fsyncSync(file);
        close();
        renameSync(partial, path);
      });
    },
    discard(): void {
      close();
      rmSync(partial, { force: true });
    },
  };
}
