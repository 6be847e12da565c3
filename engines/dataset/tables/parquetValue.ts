import { invalid } from "./tableRow.ts";

/**
 * A value as JSON has it. In an object, a key without a value is left out.
 * @param column the name, for errors
 * @throws KitError `DATASET_INVALID` for what JSON doesn't have
 */
export function plainValue(value: unknown, where: string, column: string): unknown {
  const fail = (problem: string) => invalid(where, `column ${JSON.stringify(column)} ${problem}`);
  if (value === null) return undefined;
  if (typeof value === "bigint") {
    const number = Number(value);
    if (Number.isSafeInteger(number)) return number;
    throw fail(`has ${value}, which is too large for a number. Save the column as text.`);
  }
  if (typeof value !== "object") return value;
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) {
      throw fail("has a date that is out of range. Save the column as text.");
    }
    return value.toISOString();
  }
  if (ArrayBuffer.isView(value)) {
    throw fail("is binary, or text that is not UTF-8. Save it as UTF-8 text, or remove it.");
  }
  if (Array.isArray(value)) {
    return value.map((one: unknown) => plainValue(one, where, column));
  }
  const entries = Object.entries(value).map(([key, one]) => [key, plainValue(one, where, column)]);
  return Object.fromEntries(entries.filter(([, one]) => one !== undefined));
}
