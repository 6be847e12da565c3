import type { Named } from "./values.ts";

/**
 * The arguments of a call in the order of their names, each given by place or by name.
 * @throws Error for one that has no place, as Python
 */
export function argumentsAs<const Names extends readonly string[]>(
  names: Names,
  args: readonly unknown[],
  named: Named,
): { [Place in keyof Names]: unknown } {
  const unknown = [...named.keys()].find((name) => !names.slice(args.length).includes(name));
  if (args.length > names.length || unknown !== undefined) {
    throw new Error(
      unknown === undefined
        ? `it gives ${args.length} arguments where ${names.length} are taken`
        : `it gives an argument "${unknown}" that is not taken`,
    );
  }
  return names.map((name, i) => (i < args.length ? args[i] : named.get(name))) as {
    [Place in keyof Names]: unknown;
  };
}

/** What `|` or `map` applies to a value. */
export type Filter = (value: unknown, args: unknown[], named: Named) => unknown;

/** A filter whose arguments have these names. */
export function taking<const Names extends readonly string[]>(
  names: Names,
  filter: (value: unknown, ...args: { [Place in keyof Names]: unknown }) => unknown,
): Filter {
  return (value, args, named) => filter(value, ...argumentsAs(names, args, named));
}
