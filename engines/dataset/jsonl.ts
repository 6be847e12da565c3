import { KitError } from "../../protocol/error.ts";
import { parseJson } from "../../protocol/json.ts";
import { type OnRead, readLines } from "./lines.ts";
import { lineNotJson } from "./notJson.ts";
import { readJson } from "./tables/json.ts";
import type { TableRow } from "./tables/tableRow.ts";
import { openText } from "./textFile.ts";

const HEAD_BYTES = 2 ** 16;

/**
 * Reads the records of a JSONL file; also of one that is a single array of them, as many programs save it.
 * @param expected what a line has, for errors
 * @throws KitError `DATASET_UNREADABLE` without a file, `DATASET_INVALID` with where it is wrong
 */
export function* readJsonl(path: string, expected: string, onRead: OnRead): Generator<TableRow> {
  if (isArray(path)) {
    yield* readJson(path);
    return;
  }
  const parse = (text: string, where: string) => ({
    value: parseJsonLine(text, where, expected) as TableRow["value"],
    where,
  });
  yield* readLines(path, parse, onRead);
}

/** Whether a list of objects begins a file. A list of messages on each line does not count. */
function isArray(path: string): boolean {
  const { read, close } = openText(path);
  const head = Buffer.alloc(HEAD_BYTES);
  const text = head.toString("utf8", 0, read(head, 0, HEAD_BYTES));
  close();
  return /^\s*\[\s*(\{|$)/.test(text) && !/^\s*\[.*\]\s*[\r\n]+\s*\[/.test(text);
}

/** Parts between commas, semicolons or tabs without a space after them, which prose would have. */
const PARTS = /^[^{}[\]:]+[,;\t|][^\s{}[\]:][^{}[\]:]*$/;

/**
 * Parses a line of a JSONL file.
 * @param expected what a line has, for the error
 * @throws KitError `DATASET_INVALID`, its message beginning with `where`
 */
function parseJsonLine(text: string, where: string, expected: string): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    if (!isCsv(text, where)) throw lineNotJson(cause, text, where, expected);
    const problem = `${where}: the file is CSV: name it .csv and leave out its type, or set the type to "csv". Write ${expected}.`;
    throw new KitError("DATASET_INVALID", problem, { cause });
  }
}

/** Whether a line that is not JSON says that its file is a table: by the file's name, or as its first line. */
function isCsv(line: string, where: string): boolean {
  const [, extension = "", number] = /(\.[ct]sv)?:(\d+)$/i.exec(where) ?? [];
  return extension !== "" || (number === "1" && PARTS.test(line));
}
