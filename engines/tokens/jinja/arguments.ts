import type { Kwargs } from "./values.ts";

/**
 * Binds positional and keyword arguments to parameter names.
 * @throws Error for an unexpected argument, as in Python
 */
export function bindArguments<const Names extends readonly string[]>(
  names: Names,
  args: readonly unknown[],
  kwargs: Kwargs,
): { [Index in keyof Names]: unknown } {
  const unexpected = [...kwargs.keys()].find((name) => !names.slice(args.length).includes(name));
  if (args.length > names.length || unexpected !== undefined) {
    throw new Error(
      unexpected === undefined
        ? `it passes ${args.length} arguments where ${names.length} are expected`
        : `it passes an unexpected argument "${unexpected}"`,
    );
  }
  return names.map((name, i) => (i < args.length ? args[i] : kwargs.get(name))) as {
    [Index in keyof Names]: unknown;
  };
}

/** A filter, as applied by `|` or `map`. */
export type Filter = (value: unknown, args: unknown[], kwargs: Kwargs) => unknown;

/** A filter with named parameters. */
export function withArguments<const Names extends readonly string[]>(
  names: Names,
  filter: (value: unknown, ...args: { [Index in keyof Names]: unknown }) => unknown,
): Filter {
  return (value, args, kwargs) => filter(value, ...bindArguments(names, args, kwargs));
}
