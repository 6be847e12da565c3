import { isEqual } from "./comparison.ts";
import { type Callable, Attributes } from "./values.ts";

/** Jinja's `loop`, within a loop through these items. `move` goes to the next. */
export function createLoop(items: readonly unknown[]): {
  attributes: Attributes;
  move: () => void;
} {
  const { length } = items;
  let at = 0;
  let last: unknown[] | undefined;
  const changed: Callable = (args) => {
    const hasChanged = !last || !isEqual(last, args);
    last = args;
    return hasChanged;
  };
  const cycle: Callable = (args) => args[at % args.length];
  const values: Record<string, () => unknown> = {
    index: () => at + 1,
    index0: () => at,
    revindex: () => length - at,
    revindex0: () => length - at - 1,
    first: () => at === 0,
    last: () => at === length - 1,
    length: () => length,
    depth: () => 1,
    depth0: () => 0,
    previtem: () => items[at - 1],
    nextitem: () => items[at + 1],
    cycle: () => cycle,
    changed: () => changed,
  };
  const attributes = new Attributes((name) =>
    Object.hasOwn(values, name) ? values[name]?.() : undefined,
  );
  return { attributes, move: () => void at++ };
}
