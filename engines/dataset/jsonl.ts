import { KitError } from "../../protocol/error.ts";
import { parseJson } from "../../protocol/json.ts";
import { jsonLineError } from "./jsonError.ts";
import { type OnRead, readLines } from "./lines.ts";
import { readJson } from "./tables/json.ts";
import type { TableRow } from "./tables/tableRow.ts";
import { openText } from "./textFile.ts";

const HEAD_BYTES = 2 ** 16;

/**
 * Reads the records of a JSONL file, or of a single JSON array, which many programs save as .jsonl.
 * @param expected what a line should be, for errors
 * @throws KitError `DATASET_UNREADABLE` without a file, `DATASET_INVALID` with the location
 */
export function* readJsonl(path: string, expected: string, onRead: OnRead): Generator<TableRow> {
  if (isArrayFile(path)) {
    yield* readJson(path);
    return;
  }
  const parse = (text: string, where: string) => ({
    value: parseJsonLine(text, where, expected) as TableRow["value"],
    where,
  });
  yield* readLines(path, parse, onRead);
}

/** Whether a file is a single array of objects, not a list of messages on each line. */
function isArrayFile(path: string): boolean {
  const { read, close } = openText(path);
  const head = Buffer.alloc(HEAD_BYTES);
  const text = head.toString("utf8", 0, read(head, 0, HEAD_BYTES));
  close();
  return /^\s*\[\s*(\{|$)/.test(text) && !/^\s*\[.*\]\s*[\r\n]+\s*\[/.test(text);
}

/** Cells between commas, semicolons or tabs; prose would have a space after them. */
const CSV_CELLS = /^[^{}[\]:]+[,;\t|][^\s{}[\]:][^{}[\]:]*$/;

/**
 * Parses a line of a JSONL file.
 * @param expected what a line should be, for the error
 * @throws KitError `DATASET_INVALID`, its message beginning with `where`
 */
function parseJsonLine(text: string, where: string, expected: string): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    if (!isCsv(text, where)) throw jsonLineError(cause, text, where, expected);
    const problem = `${where}: the file is CSV: name it .csv and leave out its type, or set the type to "csv". Write ${expected}.`;
    throw new KitError("DATASET_INVALID", problem, { cause });
  }
}

/** Whether a line that isn't JSON belongs to a CSV file: by the file's name, or as its header. */
function isCsv(line: string, where: string): boolean {
  const [, extension = "", number] = /(\.[ct]sv)?:(\d+)$/i.exec(where) ?? [];
  return extension !== "" || (number === "1" && CSV_CELLS.test(line));
}
