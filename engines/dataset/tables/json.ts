import { basename } from "node:path";
import type { KitError } from "../../../protocol/error.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import { parseJson } from "../../../protocol/json.ts";
import { jsonFileError } from "../jsonError.ts";
import { openText, readAll } from "../textFile.ts";
import { type TableRow, invalid } from "./tableRow.ts";

/** Parsing takes several times the file's size in memory. */
const MAX_MIB = 256;

/**
 * Reads the rows of a JSON file, one array of objects.
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
  const { size, read, close } = openText(path);
  try {
    if (size > MAX_MIB * 2 ** 20) throw tooLarge(path);
    const bytes = readAll(read);
    if (bytes.length > MAX_MIB * 2 ** 20) throw tooLarge(path);
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    if (cause instanceof TypeError) {
      throw invalid(path, "not UTF-8. Save the file as UTF-8.", cause);
    }
    throw cause;
  } finally {
    close();
  }
}

function tooLarge(path: string): KitError {
  const name = basename(path);
  const lines = name.replace(/(\.[^.]*)?$/, name.endsWith(".jsonl") ? ".lines.jsonl" : ".jsonl");
  return invalid(
    path,
    `more than ${MAX_MIB} MiB, too much for a single JSON array. Convert it to JSONL: jq -c '.[]' ${name} > ${lines}`,
  );
}

function parse(text: string, path: string): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    if (text.trim() === "")
      throw invalid(path, "the file is empty. Write one array of rows in it.");
    if (isJsonl(text)) {
      throw invalid(
        path,
        'this is JSONL, with a JSON object on each line. Name it .jsonl, or set type: "jsonl".',
        cause,
      );
    }
    throw jsonFileError(cause, text, path, "one array of rows, [{…}, {…}]");
  }
}

/** Whether the first line is a complete object and another one follows. */
function isJsonl(text: string): boolean {
  const [first = "", second = ""] = /^\s*(.*)\s*(.?)/.exec(text)?.slice(1) ?? [];
  try {
    return isRecord(JSON.parse(first)) && second === "{";
  } catch {
    // Not JSON at all.
    return false;
  }
}
