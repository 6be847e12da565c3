import { KitError } from "../../protocol/error.ts";
import { parseJson } from "../../protocol/json.ts";
import { lineNotJson } from "./notJson.ts";

/** Parts between commas, semicolons or tabs without a space after them, which prose would have. */
const PARTS = /^[^{}[\]:]+[,;\t|][^\s{}[\]:][^{}[\]:]*$/;

/**
 * Parses a line of a JSONL file.
 * @param expected what a line has, for the error
 * @throws KitError `DATASET_INVALID`, its message beginning with `where`
 */
export function parseJsonLine(text: string, where: string, expected: string): unknown {
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
