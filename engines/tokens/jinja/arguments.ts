import type { Named } from "./values.ts";

/**
 * Binds positional and keyword arguments to parameter names.
 * @throws Error for an unexpected argument, as in Python
 */
export function bindArguments<const Names extends readonly string[]>(
  names: Names,
  args: readonly unknown[],
  named: Named,
): { [Place in keyof Names]: unknown } {
  const unknown = [...named.keys()].find((name) => !names.slice(args.length).includes(name));
  if (args.length > names.length || unknown !== undefined) {
    throw new Error(
      unknown === undefined
        ? `it passes ${args.length} arguments where ${names.length} are expected`
        : `it passes an unexpected argument "${unknown}"`,
    );
  }
  return names.map((name, i) => (i < args.length ? args[i] : named.get(name))) as {
    [Place in keyof Names]: unknown;
  };
}

/** A filter of `|` or `map`. */
export type Filter = (value: unknown, args: unknown[], named: Named) => unknown;

/** A filter with named parameters. */
export function withArguments<const Names extends readonly string[]>(
  names: Names,
  filter: (value: unknown, ...args: { [Place in keyof Names]: unknown }) => unknown,
): Filter {
  return (value, args, named) => filter(value, ...bindArguments(names, args, named));
}
