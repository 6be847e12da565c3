import { withArguments } from "./arguments.ts";
import { compare } from "./comparison.ts";
import { attributeOf } from "./members.ts";
import { str } from "./str.ts";
import { generator, isTrue, iterate, dictKey, textIn, tuple, typeName } from "./values.ts";

const withoutCase = (value: unknown) => textIn(value)?.toLowerCase() ?? value;

/** Reads an item's key for sorting or comparing. @param path attributes, such as `function.name` */
export const keyGetter =
  (path: unknown, isCaseSensitive: unknown): ((item: unknown) => unknown) =>
  (item) => {
    const value = attributeAt(item, path);
    return isTrue(isCaseSensitive) ? value : withoutCase(value);
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
  return [...items].sort((a, b) => sign * compare(key(a), key(b)));
};

export const dictsort = withArguments(
  ["case_sensitive", "by", "reverse"],
  (value, isCaseSensitive, by = "key", isReversed = false) => {
    if (!(value instanceof Map)) throw new Error(`it sorts a ${typeName(value)} as a dict`);
    const key = keyGetter(by === "value" ? 1 : 0, isCaseSensitive);
    return sorted([...value].map(tuple), key, isReversed);
  },
);

export const unique = withArguments(
  ["case_sensitive", "attribute"],
  (value, isCaseSensitive, attribute) => {
    const key = keyGetter(attribute, isCaseSensitive);
    const firstByKey = new Map<unknown, unknown>();
    for (const item of iterate(value)) {
      if (!firstByKey.has(dictKey(key(item)))) firstByKey.set(dictKey(key(item)), item);
    }
    return generator([...firstByKey.values()]);
  },
);
