import { argumentsAs } from "./arguments.ts";
import { attributeOf } from "./attributes.ts";
import { isEqual, order } from "./comparison.ts";
import { type Filter, taking } from "./filter.ts";
import { asIndex, generator, isTrue, iterate, keyOf, textIn, tuple, typeName } from "./values.ts";
import { written } from "./writing.ts";

const withoutCase = (value: unknown) => textIn(value)?.toLowerCase() ?? value;

/** What a list is sorted or compared by. @param path attributes, such as `function.name` */
const getter =
  (path: unknown, isCased: unknown): ((item: unknown) => unknown) =>
  (item) => {
    const value = attributeAt(item, path);
    return isTrue(isCased) ? value : withoutCase(value);
  };

/** By several attributes, such as `role,name`. */
export const keysAt = (paths: unknown, isCased: unknown) => {
  const keys = (textIn(paths)?.split(",") ?? [paths]).map((path) => getter(path, isCased));
  return (item: unknown) => keys.map((key) => key(item));
};

export function attributeAt(item: unknown, path: unknown): unknown {
  if (path === undefined || path === null) return item;
  const parts = written(path).split(".");
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

export const extreme =
  (sign: number): Filter =>
  (value, args, named) => {
    const [isCased, attribute] = argumentsAs(["case_sensitive", "attribute"], args, named);
    const key = getter(attribute, isCased);
    return iterate(value).reduce(
      (best, item) => (best === undefined || sign * order(key(item), key(best)) > 0 ? item : best),
      undefined,
    );
  };

export const dictsort = taking(
  ["case_sensitive", "by", "reverse"],
  (value, isCased, by = "key", isReversed = false) => {
    if (!(value instanceof Map)) throw new Error(`it sorts a ${typeName(value)} as a dict`);
    const key = getter(by === "value" ? 1 : 0, isCased);
    return sorted([...value].map(tuple), key, isReversed);
  },
);

export const unique = taking(["case_sensitive", "attribute"], (value, isCased, attribute) => {
  const key = getter(attribute, isCased);
  const firsts = new Map<unknown, unknown>();
  for (const item of iterate(value)) {
    if (!firsts.has(keyOf(key(item)))) firsts.set(keyOf(key(item)), item);
  }
  return generator([...firsts.values()]);
});

export const groupby = taking(
  ["attribute", "default", "case_sensitive"],
  (value, attribute, otherwise, isCased) => {
    const key = (item: unknown) => {
      const found = attributeAt(item, attribute) ?? otherwise;
      return isTrue(isCased) ? found : withoutCase(found);
    };
    const groups: unknown[][] = [];
    for (const item of sorted(iterate(value), key, false)) {
      const last = groups.at(-1);
      if (last && isEqual(key(last[0]), key(item))) last.push(item);
      else groups.push([item]);
    }
    return groups.map((group) => tuple([attributeAt(group[0], attribute) ?? otherwise, group]));
  },
);

export const batch = taking(["linecount", "fill_with"], (value, size, fill) => {
  const [items, count] = [iterate(value), Math.max(1, asIndex(size))];
  const groups: unknown[][] = [];
  for (let at = 0; at < items.length; at += count) groups.push(items.slice(at, at + count));
  const last = groups.at(-1);
  while (last && fill !== undefined && fill !== null && last.length < count) last.push(fill);
  return generator(groups);
});
