import { closeSync, fstatSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { messageOf } from "../../../protocol/error.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import { openDataFile, readable } from "../lines.ts";
import { type TableRow, invalid } from "./tableRow.ts";

/** The whole file is in memory, and takes several times its size while it is parsed. */
const MOST_MIB = 256;

/**
 * Reads the rows of a JSON file, which has one array of them.
 * @throws KitError `DATASET_UNREADABLE` without a file, `DATASET_INVALID` with file and row
 */
export function* readJson(path: string): Generator<TableRow> {
  const rows = parse(readText(path), path);
  if (!Array.isArray(rows)) {
    throw invalid(
      path,
      "not an array of rows. Write one array, [{…}, {…}], with a row in each object.",
    );
  }
  for (const [index, value] of (rows as unknown[]).entries()) {
    const where = `${path}, row ${index + 1}`;
    if (!isRecord(value)) throw invalid(where, "not a JSON object. Write each row as an object.");
    yield { value, where };
  }
}

function readText(path: string): string {
  const file = openDataFile(path);
  try {
    if (fstatSync(file).size > MOST_MIB * 2 ** 20) {
      const name = basename(path);
      const lines = `${name.replace(/\.json$/i, "")}.jsonl`;
      throw invalid(
        path,
        `more than ${MOST_MIB} MiB, which JSON is parsed from at once. Turn it into JSONL: jq -c '.[]' ${name} > ${lines}`,
      );
    }
    const bytes = readable(path, () => readFileSync(file));
    // Leaves a byte order mark out.
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    if (cause instanceof TypeError) {
      throw invalid(path, "not UTF-8. Save the file as UTF-8.", cause);
    }
    throw cause;
  } finally {
    closeSync(file);
  }
}

function parse(text: string, path: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    if (text.trim() === "")
      throw invalid(path, "the file is empty. Write one array of rows in it.");
    if (isJsonl(text)) {
      throw invalid(
        path,
        'a JSON object on each line is JSONL. Name it .jsonl, or set type: "jsonl".',
        cause,
      );
    }
    const [, position] = /at position (\d+)/.exec(messageOf(cause)) ?? [];
    const before = text.slice(0, position === undefined ? text.length : Number(position));
    throw invalid(
      `${path}:${before.split("\n").length}`,
      "not valid JSON. Write one array of rows, [{…}, {…}].",
      cause,
    );
  }
}

/** Whether the first line is a whole object, and another one begins after it. */
function isJsonl(text: string): boolean {
  const [first = "", second = ""] = /^\s*(.*)\s*(.?)/.exec(text)?.slice(1) ?? [];
  try {
    return isRecord(JSON.parse(first)) && second === "{";
  } catch {
    // Not JSON at all.
    return false;
  }
}
