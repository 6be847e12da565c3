import { withArguments } from "./arguments.ts";
import { order } from "./comparison.ts";
import { attributeOf } from "./members.ts";
import { str } from "./str.ts";
import { generator, isTrue, iterate, keyOf, textIn, tuple, typeName } from "./values.ts";

const withoutCase = (value: unknown) => textIn(value)?.toLowerCase() ?? value;

/** The key of sorting or comparing. @param path attributes, such as `function.name` */
export const getter =
  (path: unknown, isCased: unknown): ((item: unknown) => unknown) =>
  (item) => {
    const value = attributeAt(item, path);
    return isTrue(isCased) ? value : withoutCase(value);
  };

export function attributeAt(item: unknown, path: unknown): unknown {
  if (path === undefined || path === null) return item;
  const parts = str(path).split(".");
  return parts.reduce<unknown>(
    (value, part) => attributeOf(value, /^\d+$/.test(part) ? Number(part) : part, "item"),
    item,
  );
}

export const sorted = (
  items: readonly unknown[],
  key: (item: unknown) => unknown,
  isReversed: unknown,
) => {
  const sign = isTrue(isReversed) ? -1 : 1;
  return [...items].sort((one, other) => sign * order(key(one), key(other)));
};

export const dictsort = withArguments(
  ["case_sensitive", "by", "reverse"],
  (value, isCased, by = "key", isReversed = false) => {
    if (!(value instanceof Map)) throw new Error(`it sorts a ${typeName(value)} as a dict`);
    const key = getter(by === "value" ? 1 : 0, isCased);
    return sorted([...value].map(tuple), key, isReversed);
  },
);

export const unique = withArguments(
  ["case_sensitive", "attribute"],
  (value, isCased, attribute) => {
    const key = getter(attribute, isCased);
    const firsts = new Map<unknown, unknown>();
    for (const item of iterate(value)) {
      if (!firsts.has(keyOf(key(item)))) firsts.set(keyOf(key(item)), item);
    }
    return generator([...firsts.values()]);
  },
);
