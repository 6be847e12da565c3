/** Whether a value is a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  const isObject = typeof value === "object" && value !== null;
  // `Number` objects are floats of `parseJson`.
  return isObject && !Array.isArray(value) && !(value instanceof Number);
}

/** Parses a JSON object; empty for anything else. */
export function parseRecord(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}

/** A copy without the keys whose value is undefined. */
export function omitUndefined<T extends object>(
  all: T,
): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  const entries = Object.entries(all).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Key in keyof T]: Exclude<T[Key], undefined> };
}

/** An object's entries whose values are finite numbers. */
export function numbersIn(value: unknown): Record<string, number> {
  const entries = Object.entries(isRecord(value) ? value : {});
  return Object.fromEntries(
    entries.filter((entry): entry is [string, number] => Number.isFinite(entry[1])),
  );
}
