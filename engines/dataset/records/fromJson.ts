import { parseJson } from "../../../protocol/json.ts";
import { textNotJson } from "../notJson.ts";
import { invalid } from "../tables/tableRow.ts";

/**
 * A list in a table that has only text is JSON.
 * @throws KitError `DATASET_INVALID`
 */
export function fromJson(value: unknown, where: string, column: string, expected: string): unknown {
  if (typeof value !== "string") return value;
  try {
    return parseJson(value);
  } catch (cause) {
    const problem = textNotJson(cause, value, `${expected} as JSON`);
    throw invalid(where, `column ${JSON.stringify(column)} is ${problem}`, cause);
  }
}
