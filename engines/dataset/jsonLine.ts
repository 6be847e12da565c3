import { KitError } from "../../protocol/error.ts";
import { parseJson } from "../../protocol/json.ts";
import constants from "../python/kit_engine/constants.json" with { type: "json" };
import { isCsv } from "./csv.ts";

/**
 * Parses a line of a JSONL file.
 * @param expected what a line has, for the error
 * @throws KitError `DATASET_INVALID`, its message beginning with `where`
 */
export function parseJsonLine(text: string, where: string, expected: string): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    const problem = isCsv(text, where) ? constants.csvProblem : "not valid JSON";
    throw new KitError("DATASET_INVALID", `${where}: ${problem}. Write ${expected}.`, { cause });
  }
}
