import { type Body, fieldOf, notSupported } from "../fields.ts";

/** @throws ApiError 400 for a field that has a value and no meaning here */
export function refuseFields(
  body: Body,
  known: readonly string[],
  parent = "",
  advice: Record<string, string> = {},
): void {
  for (const name of Object.keys(body)) {
    const value = fieldOf(body, name);
    const isEmpty = value === undefined || (Array.isArray(value) && value.length === 0);
    if (known.includes(name) || isEmpty) continue;
    throw notSupported(parent + name, advice[name] ?? "Leave it out.");
  }
}
