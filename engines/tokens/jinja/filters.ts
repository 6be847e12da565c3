import { type Filter, bindArguments, withArguments } from "./arguments.ts";
import { attributeAt, dictsort, keyGetter, sorted, unique } from "./listFilters.ts";
import { float, integer } from "./numberFilters.ts";
import { concatenate, operate } from "./operators.ts";
import { testOf } from "./predicates.ts";
import { escaped, json, str } from "./str.ts";
import { capitalized, indented, replaced, stripped, titledWords } from "./texts.ts";
import { UnsupportedInTemplate } from "./unsupported.ts";
import {
  Markup,
  asIndex,
  assertTextLength,
  charactersOf,
  generator,
  isTrue,
  iterate,
  lengthOf,
  numeric,
  textIn,
  tuple,
  typeName,
} from "./values.ts";

const ofText = (change: (text: string) => string) =>
  withArguments([], (value) => change(str(value)));

/** `select`, `reject`, `selectattr` and `rejectattr`. */
const selectFilter =
  (isWanted: boolean, hasAttribute: boolean): Filter =>
  (value, [...args]) => {
    const path = hasAttribute ? args.shift() : undefined;
    const [name, ...rest] = args;
    const test = name === undefined ? isTrue : testOf(str(name));
    const isKept = (item: unknown) => test(attributeAt(item, path), ...rest) === isWanted;
    return generator(isTrue(value) ? iterate(value).filter(isKept) : []);
  };

const map: Filter = (value, [name, ...args], kwargs) => {
  const all = isTrue(value) ? iterate(value) : [];
  if (name !== undefined) {
    return generator(all.map((item) => filterOf(str(name))(item, args, kwargs)));
  }
  const [path, fallback] = bindArguments(["attribute", "default"], [], kwargs);
  return generator(all.map((item) => attributeAt(item, path) ?? fallback));
};

const tojson = withArguments(
  ["ensure_ascii", "indent", "separators", "sort_keys"],
  (value, ensureAscii, indent, separators, sortsKeys) => {
    const margin = numeric(indent) === undefined ? textIn(indent) : " ".repeat(asIndex(indent));
    const [betweenItems, afterKey] = separators
      ? iterate(separators).map(str)
      : [margin === undefined ? ", " : ",", ": "];
    return json(value, {
      ensureAscii: isTrue(ensureAscii),
      indent: margin,
      separators: [betweenItems ?? "", afterKey ?? ""],
      sortsKeys: isTrue(sortsKeys),
    });
  },
);

const length: Filter = (value) => {
  const count = lengthOf(value);
  if (count === undefined) throw new Error(`it takes the length of a ${typeName(value)}`);
  return count;
};

const items: Filter = (value) => {
  if (value === undefined) return generator([]);
  if (value instanceof Map) return generator([...value].map(tuple));
  throw new Error(`it takes the items of a ${typeName(value)}, which is not a dict`);
};

const last: Filter = (value) => {
  if (lengthOf(value) === undefined)
    throw new Error(`it takes the last item of a ${typeName(value)}`);
  return iterate(value).at(-1);
};

const reverse: Filter = (value) => {
  const text = textIn(value);
  if (text !== undefined) return charactersOf(text).reverse().join("");
  const all = [...iterate(value)].reverse();
  return lengthOf(value) === undefined ? all : generator(all);
};

const FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ["tojson", tojson],
  ["safe", (value) => new Markup(str(value))],
  ...["e", "escape"].map((name): [string, Filter] => [name, (value) => new Markup(escaped(value))]),
  ["string", (value) => (value instanceof Markup ? value : str(value))],
  ["list", (value) => [...iterate(value)]],
  ...["length", "count"].map((name): [string, Filter] => [name, length]),
  ["first", (value) => iterate(value)[0]],
  ["last", last],
  ["reverse", reverse],
  ["items", items],
  ["dictsort", dictsort],
  ["map", map],
  ["select", selectFilter(true, false)],
  ["reject", selectFilter(false, false)],
  ["selectattr", selectFilter(true, true)],
  ["rejectattr", selectFilter(false, true)],
  ["unique", unique],
  [
    "sort",
    withArguments(
      ["reverse", "case_sensitive", "attribute"],
      (value, isReversed, isCaseSensitive, attribute) =>
        sorted(iterate(value), keyGetter(attribute, isCaseSensitive), isReversed),
    ),
  ],
  [
    "join",
    withArguments(["d", "attribute"], (value, separator = "", attribute) =>
      concatenate(
        iterate(value).map((item) => attributeAt(item, attribute)),
        separator,
      ),
    ),
  ],
  ...["default", "d"].map((name): [string, Filter] => [
    name,
    withArguments(["default_value", "boolean"], (value, fallback = "", replacesFalse = false) =>
      value === undefined || (isTrue(replacesFalse) && !isTrue(value)) ? fallback : value,
    ),
  ]),
  ["trim", withArguments(["chars"], (value, set) => stripped(str(value), "both", textIn(set)))],
  ["upper", ofText((text) => text.toUpperCase())],
  ["lower", ofText((text) => text.toLowerCase())],
  ["capitalize", ofText(capitalized)],
  ["title", ofText(titledWords)],
  [
    "replace",
    withArguments(["old", "new", "count"], (value, from, to, count) =>
      replaced(str(value), str(from), str(to), numeric(count) === undefined ? -1 : asIndex(count)),
    ),
  ],
  [
    "indent",
    withArguments(["width", "first", "blank"], (value, width = 4, first, blank) => {
      const text = textIn(value);
      if (text === undefined) throw new Error(`it indents a ${typeName(value)}`);
      if (numeric(width) !== undefined) assertTextLength(asIndex(width));
      const margin = textIn(width) ?? " ".repeat(asIndex(width));
      return indented(text, margin, isTrue(first), isTrue(blank));
    }),
  ],
  ["int", integer],
  ["float", float],
  ["abs", (value) => (operate("<", value, 0) ? operate("*", value, -1) : operate("+", value, 0))],
]);

/** @throws UnsupportedInTemplate for an unknown filter */
export function filterOf(name: string): Filter {
  const filter = FILTERS.get(name);
  if (filter) return filter;
  throw new UnsupportedInTemplate(`it uses the filter "${name}"`);
}
