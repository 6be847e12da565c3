import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { OWNER_ONLY } from "../../disk/file.ts";
import { move, remove } from "../../disk/move.ts";
import type { DatasetCode, DatasetConfig, FileType } from "../../protocol/dataset.ts";
import { KitError, cannotWrite, isKitError, messageOf } from "../../protocol/error.ts";
import { parseJson, stringifyJson, withPlainNumbers } from "../../protocol/json.ts";
import { isUrl } from "../../protocol/url.ts";
import { createArrowNulls } from "./arrowNulls.ts";
import { datasetFiles } from "./files.ts";
import { createIgnoredKeys } from "./ignoredKeys.ts";
import { readJsonl } from "./jsonl.ts";
import { type OnRead, refuseLongRow } from "./lines.ts";
import { createLoneSurrogates } from "./loneSurrogates.ts";
import { createReadingNotes } from "./readingNotes.ts";
import { createRecordMapper, recordFormat } from "./records/recordFormat.ts";
import { isTooDeep, nestedTooDeeply } from "./row.ts";
import type { RowFormat } from "./rowFormat.ts";
import { type SourceMap, createSourceMap } from "./sourceMap.ts";
import { type TableRow, invalid } from "./tables/tableRow.ts";
import { readTable, tableColumns } from "./tables/tables.ts";

/** How often to yield to timers and signals, such as the timer that renews the job's lease. */
const YIELD_INTERVAL_MS = 50;
const CHUNK_CHARACTERS = 2 ** 18;

/** A dataset whose files are on this disk, or that the project's code makes. */
export interface FileDataset extends Pick<DatasetConfig, "path" | "columns" | "isMapped"> {
  type: FileType | "code";
}

export interface MaterializeOptions {
  /** The dataset's name in messages. */
  name: string;
  format: RowFormat<object>;
  /** Called with messages to the user: how columns become rows, progress, ignored keys. */
  onNote: (text: string) => void;
  signal?: AbortSignal | undefined;
}

/**
 * Checks a dataset's rows and writes them to a JSONL file, which any engine can read.
 * @returns the source of each line
 * @throws KitError `DATASET_UNREADABLE`, `DATASET_INVALID` with the location, `CANNOT_WRITE`; the signal's reason; and
 * what the project's code throws
 */
export async function materializeDataset(
  dataset: FileDataset,
  code: DatasetCode,
  path: string,
  options: MaterializeOptions,
): Promise<SourceMap> {
  const { name, format, onNote, signal = new AbortController().signal } = options;
  const check = format.createCheck?.();
  const arrowNulls = createArrowNulls(dataset.type === "parquet");
  const loneSurrogates = createLoneSurrogates();
  const ignored = createIgnoredKeys({
    advice: dataset.columns && "leave out columns, or set map,",
  });
  const { type, columns } = dataset;
  const isFromCode = type === "code" || code.map !== undefined;
  const mapper = createRecordMapper({
    columns,
    rows: format.columns,
    isTable: !isFromCode && type !== "jsonl",
    isRagged: type !== "csv" && type !== "parquet",
    ignored,
    onNote,
  });
  const noteReading = createReadingNotes(onNote);
  const sourceMap = createSourceMap();
  const file = createWriter(path);
  let rows = 0;
  const onRead: OnRead = (bytes, size) => noteReading(rows, bytes, size);
  try {
    const records = recordsOf(dataset, code, { ...options, onRead });
    let yieldedAt = performance.now();
    for await (const record of untilAborted(records, signal)) {
      if (performance.now() - yieldedAt > YIELD_INTERVAL_MS) {
        await setImmediate();
        yieldedAt = performance.now();
      }
      const value = await mappedValue(record, isFromCode, code);
      if (value === undefined) continue;
      // Columns that the Parquet reader skipped.
      ignored.addUnused(record.unread ?? {}, [], []);
      const mapped = mapper.rowOf(value, record.where);
      const row = arrowNulls.drop(format.parse(mapped, record.where, ignored), record.where);
      const line = loneSurrogates.replace(
        asJson(row, record.where, () => notFinite(record.where)) ?? "",
        record.where,
      );
      refuseLongRow(Buffer.byteLength(line), record.where);
      check?.add(row, record.where);
      sourceMap.add(record.where);
      rows++;
      const bytes = file.write(`${line}\n`);
      // JSONL reports its own reading; otherwise the bytes written stand in.
      if (dataset.type !== "jsonl") noteReading(rows, bytes, 0);
    }
    if (rows === 0) {
      const advice =
        dataset.type === "jsonl" ? `Write ${format.expected} on each line` : "Add some";
      throw new KitError("DATASET_INVALID", `${name} has no rows. ${advice}.`);
    }
    check?.report(name, onNote);
    file.finish();
  } catch (error) {
    file.discard();
    throw error;
  }
  for (const note of [
    ...ignored.notes(name),
    loneSurrogates.note(name),
    ...arrowNulls.notes(name),
  ]) {
    if (note !== undefined) onNote(note);
  }
  return sourceMap;
}

/** A record after the project's `map`; undefined if that drops it. */
async function mappedValue(
  { value, where }: TableRow,
  isFromCode: boolean,
  { map }: DatasetCode,
): Promise<unknown> {
  const mapped = map ? await map(plainOf(value, where)) : value;
  // JSON has no undefined.
  if (mapped === undefined || mapped === null) return undefined;
  return isFromCode ? fromCode(mapped, where) : mapped;
}

interface ReadOptions extends MaterializeOptions {
  onRead: OnRead;
}

async function* recordsOf(
  dataset: FileDataset,
  { rows }: DatasetCode,
  { name, format, onRead }: ReadOptions,
): AsyncGenerator<TableRow> {
  if (dataset.type === "code") {
    const produced: unknown = typeof rows === "function" ? await rows() : rows;
    if (!isIterable(produced)) {
      throw new KitError(
        "DATASET_INVALID",
        `The function of ${name} returned no rows. Return an array of rows, or write it as async function* and yield them.`,
      );
    }
    let number = 0;
    for await (const value of produced) {
      yield { value, where: `${name}, row ${++number}` };
    }
    return;
  }
  for (const file of datasetFiles(dataset.path)) {
    if (isUrl(file)) throw urlNeedsJsonl(file);
    yield* readFile({ ...dataset, format, onRead }, dataset.type, file);
  }
}

async function* readFile(
  { columns, isMapped, format, onRead }: FileDataset & Pick<ReadOptions, "format" | "onRead">,
  type: FileType,
  file: string,
): AsyncGenerator<TableRow> {
  if (type === "jsonl") {
    const expected = columns || isMapped ? "a JSON object on each line" : format.expected;
    yield* readJsonl(file, expected, onRead);
    return;
  }
  const names = isMapped ? [] : await tableColumns(type, file);
  const options = { columns, rows: format.columns };
  const recordsFormat = names.length > 0 ? recordFormat(names, file, options) : undefined;
  // Another file may have rows.
  if (!recordsFormat && !isMapped) return;
  // Dropped columns are read too, for the warning about them.
  const needed = recordsFormat && [...recordsFormat.reads, ...recordsFormat.drops];
  const unreadNames = needed ? names.filter((name) => !needed.includes(name)) : [];
  const unread = Object.fromEntries(unreadNames.map((name) => [name, name]));
  for await (const row of readTable(type, file, needed)) {
    yield type === "parquet" ? { ...row, unread } : row;
  }
}

function urlNeedsJsonl(url: string): KitError {
  return new KitError(
    "DATASET_INVALID",
    `Only the cluster's workers read ${url}, as JSONL in Kit's own format. Leave out columns and map, or name a downloaded file.`,
  );
}

function isIterable(value: unknown): value is AsyncIterable<TableRow["value"]> {
  if (typeof value !== "object" || value === null) return false;
  const { [Symbol.asyncIterator]: asyncIterator, [Symbol.iterator]: iterator } = value as Partial<
    AsyncIterable<unknown> & Iterable<unknown>
  >;
  return typeof (asyncIterator ?? iterator) === "function";
}

/** A record as the project's `map` receives it. */
function plainOf(value: TableRow["value"], where: string): TableRow["value"] {
  try {
    return withPlainNumbers(value) as TableRow["value"];
  } catch (cause) {
    throw isTooDeep(cause) ? nestedTooDeeply(where, cause) : cause;
  }
}

/** What the project's code returned, as if read from JSON. Fields that Kit ignores may be infinite. */
function fromCode(value: unknown, where: string): Record<string, unknown> {
  const text = asJson(value, where, () => "1e999");
  return (text === undefined ? text : parseJson(text)) as Record<string, unknown>;
}

function asJson(value: unknown, where: string, infinite: () => string): string | undefined {
  try {
    return stringifyJson(value, infinite);
  } catch (cause) {
    if (isKitError(cause)) throw cause;
    if (isTooDeep(cause)) throw nestedTooDeeply(where, cause);
    throw invalid(where, `cannot be written as JSON: ${messageOf(cause)}`, cause);
  }
}

function notFinite(where: string): never {
  throw invalid(
    where,
    "has a number that is too large, such as 1e400, or NaN. Write it as text, or leave it out.",
  );
}

/** Ends at once when the signal is aborted, even while the generator waits. */
async function* untilAborted<T>(items: AsyncGenerator<T>, signal: AbortSignal): AsyncGenerator<T> {
  let rejectNext: (reason: unknown) => void = () => undefined;
  const onAbort = () => rejectNext(signal.reason);
  signal.addEventListener("abort", onAbort);
  try {
    for (;;) {
      signal.throwIfAborted();
      // Promise.race with one abort promise would leak memory for each row.
      const next = await new Promise<IteratorResult<T, unknown>>((resolve, reject) => {
        rejectNext = reject;
        items.next().then(resolve, reject);
      });
      if (next.done) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    // Closes open files. Not awaited, since the project's code may never return.
    void items.return(undefined).catch(() => undefined);
  }
}

/** A file that appears under its name only when complete. */
function createWriter(path: string) {
  const partial = `${path}.partial`;
  const withWriteError = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw isKitError(error) ? error : cannotWrite(`write ${path}`, error);
    }
  };
  const file = withWriteError(() => openSync(partial, "w", OWNER_ONLY));
  let pending = "";
  let bytes = 0;
  let isOpen = true;

  function flush(): void {
    const chunk = Buffer.from(pending);
    pending = "";
    for (let start = 0; start < chunk.length;) start += writeSync(file, chunk, start);
  }

  function close(): void {
    if (isOpen) closeSync(file);
    isOpen = false;
  }

  return {
    /** @returns the number of bytes written so far */
    write(text: string): number {
      pending += text;
      bytes += Buffer.byteLength(text);
      if (pending.length >= CHUNK_CHARACTERS) withWriteError(flush);
      return bytes;
    },
    finish(): void {
      withWriteError(() => {
        flush();
        fsyncSync(file);
        close();
        move(partial, path);
      });
    },
    discard(): void {
      close();
      remove(partial);
    },
  };
}
