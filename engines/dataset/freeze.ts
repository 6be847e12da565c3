import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { OWNER_ONLY } from "../../disk/file.ts";
import type { DatasetCode, DatasetConfig, FileType } from "../../protocol/dataset.ts";
import { KitError, cannotWrite, isKitError, messageOf } from "../../protocol/error.ts";
import { parseJson, stringifyJson, withPlainFloats } from "../../protocol/json.ts";
import { isUrl } from "../../protocol/url.ts";
import { createArrowPadding } from "./arrowPadding.ts";
import { datasetFiles } from "./files.ts";
import { createHalfCharacters } from "./halfCharacters.ts";
import { createIgnoredKeys } from "./ignoredKeys.ts";
import { readJsonl } from "./jsonl.ts";
import { type OnRead, refuseLongRow } from "./lines.ts";
import { type Places, createPlaces } from "./places.ts";
import { createReadingNotes } from "./readingNotes.ts";
import { createRecordMapper, recordForm } from "./records/recordForm.ts";
import { isTooDeep, nestedTooDeeply } from "./row.ts";
import type { RowForm } from "./rowForm.ts";
import { type TableRow, invalid } from "./tables/tableRow.ts";
import { readTable, tableColumns } from "./tables/tables.ts";

/** After so long, however few records were read, timers and signals are heard: a job renews its lease. */
const AT_ONCE_MS = 50;
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
  const watch = form.watch?.();
  const padding = createArrowPadding(dataset.type === "parquet");
  const halves = createHalfCharacters();
  const ignored = createIgnoredKeys(dataset.columns && "leave out columns, or set map,");
  const { type, columns } = dataset;
  const isMade = type === "code" || code.map !== undefined;
  const mapper = createRecordMapper({
    columns,
    rows: form.columns,
    isTable: !isMade && type !== "jsonl",
    isRagged: type !== "csv" && type !== "parquet",
    ignored,
    onNote,
  });
  const noteReading = createReadingNotes(onNote);
  const places = createPlaces();
  const file = createWriter(path);
  let rows = 0;
  const onRead: OnRead = (bytes, size) => noteReading(rows, bytes, size);
  try {
    const records = recordsOf(dataset, code, { ...options, onRead });
    let heardAt = performance.now();
    for await (const record of untilAborted(records, signal)) {
      if (performance.now() - heardAt > AT_ONCE_MS) {
        await setImmediate();
        heardAt = performance.now();
      }
      const value = await valueOf(record, isMade, code);
      if (value === undefined) continue;
      ignored.leave(record.unread ?? {}, [], []);
      const mapped = mapper.rowOf(value, record.where);
      const row = padding.drop(form.parse(mapped, record.where, ignored), record.where);
      const line = halves.mend(
        asJson(row, record.where, () => notFinite(record.where)) ?? "",
        record.where,
      );
      refuseLongRow(Buffer.byteLength(line), record.where);
      watch?.see(row, record.where);
      places.add(record.where);
      rows++;
      const bytes = file.write(`${line}\n`);
      if (dataset.type !== "jsonl") noteReading(rows, bytes, 0);
    }
    if (rows === 0) {
      const advice = dataset.type === "jsonl" ? `Write ${form.expected} on each line` : "Add some";
      throw new KitError("DATASET_INVALID", `${name} has no rows. ${advice}.`);
    }
    watch?.tell(name, onNote);
    file.finish();
  } catch (error) {
    file.discard();
    throw error;
  }
  for (const note of [...ignored.notes(name), halves.note(name), ...padding.notes(name)]) {
    if (note !== undefined) onNote(note);
  }
  return places;
}

/** A record as the project's code has changed it; undefined for one that is left out. */
async function valueOf(
  { value, where }: TableRow,
  isMade: boolean,
  { map }: DatasetCode,
): Promise<unknown> {
  const mapped = map ? await map(plainOf(value, where)) : value;
  // JSON has no undefined.
  if (mapped === undefined || mapped === null) return undefined;
  return isMade ? fromCode(mapped, where) : mapped;
}

interface ReadOptions extends FreezeOptions {
  onRead: OnRead;
}

async function* recordsOf(
  dataset: FileDataset,
  { rows }: DatasetCode,
  { name, form, onRead }: ReadOptions,
): AsyncGenerator<TableRow> {
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
      yield { value, where: `${name}, row ${++number}` };
    }
    return;
  }
  for (const file of datasetFiles(dataset.path)) {
    if (isUrl(file)) throw onlyAsJsonl(file);
    yield* readFile({ ...dataset, form, onRead }, dataset.type, file);
  }
}

async function* readFile(
  { columns, isMapped, form, onRead }: FileDataset & Pick<ReadOptions, "form" | "onRead">,
  type: FileType,
  file: string,
): AsyncGenerator<TableRow> {
  if (type === "jsonl") {
    const expected = columns || isMapped ? "a JSON object on each line" : form.expected;
    yield* readJsonl(file, expected, onRead);
    return;
  }
  const names = isMapped ? [] : await tableColumns(type, file);
  const options = { columns, rows: form.columns };
  const found = names.length > 0 ? recordForm(names, file, options) : undefined;
  // Another file may have rows.
  if (!found && !isMapped) return;
  const needed = found && [...found.reads, ...found.loses];
  const left = needed ? names.filter((name) => !needed.includes(name)) : [];
  const unread = Object.fromEntries(left.map((name) => [name, name]));
  for await (const row of readTable(type, file, needed)) {
    yield type === "parquet" ? { ...row, unread } : row;
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

/** A record as the project's code gets it. */
function plainOf(value: TableRow["value"], where: string): TableRow["value"] {
  try {
    return withPlainFloats(value) as TableRow["value"];
  } catch (cause) {
    throw isTooDeep(cause) ? nestedTooDeeply(where, cause) : cause;
  }
}

/** What the project's code made, as its JSON would be read. What no row is made of may be infinite. */
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
    "has a number that JSON cannot hold, as 1e400 or NaN. Write it as text, or leave it out.",
  );
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
