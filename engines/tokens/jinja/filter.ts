import { argumentsAs } from "./arguments.ts";
import type { Named } from "./values.ts";

/** What `|` or `map` applies to a value. */
export type Filter = (value: unknown, args: unknown[], named: Named) => unknown;

/** A filter whose arguments have these names. */
export function taking<const Names extends readonly string[]>(
  names: Names,
  filter: (value: unknown, ...args: { [Place in keyof Names]: unknown }) => unknown,
): Filter {
  return (value, args, named) => filter(value, ...argumentsAs(names, args, named));
}
