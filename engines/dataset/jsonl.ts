import { parseJsonLine } from "./jsonLine.ts";
import { type OnRead, readLines } from "./lines.ts";
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

/** Whether a list of objects begins a file. A list of messages on each line is no array of rows. */
function isArray(path: string): boolean {
  const { read, close } = openText(path);
  const head = Buffer.alloc(HEAD_BYTES);
  const text = head.toString("utf8", 0, read(head, 0, HEAD_BYTES));
  close();
  return /^\s*\[\s*(\{|$)/.test(text) && !/^\s*\[.*\]\s*[\r\n]+\s*\[/.test(text);
}
