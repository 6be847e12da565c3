import { KitError } from "../../protocol/error.ts";
import { parseJson } from "../../protocol/json.ts";
import constants from "../constants.json" with { type: "json" };
import { isCsv } from "./csv.ts";
import { lineNotJson } from "./notJson.ts";

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
    const problem = `${where}: ${constants.csvProblem}. Write ${expected}.`;
    throw new KitError("DATASET_INVALID", problem, { cause });
  }
}
