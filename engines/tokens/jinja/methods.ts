import { argumentsAs } from "./arguments.ts";
import { isEqual } from "./comparison.ts";
import { joined } from "./operators.ts";
import {
  capitalized,
  isSpace,
  lines,
  replaced,
  split,
  splitFromEnd,
  stripped,
  titled,
} from "./texts.ts";
import {
  type Callable,
  Series,
  asIndex,
  assertModest,
  charactersOf,
  isTuple,
  iterate,
  keyOf,
  lengthOf,
  textIn,
  tuple,
  typeName,
} from "./values.ts";
import { representation, written } from "./writing.ts";

/** The method of that name, which Python's value has before any key; undefined for none. */
export function methodOf(value: unknown, name: string): Callable | undefined {
  const text = textIn(value);
  if (text !== undefined) return bound(TEXT_METHODS, name, text);
  if (value instanceof Map) return bound(DICT_METHODS, name, value);
  if (!Array.isArray(value)) return undefined;
  return bound(isTuple(value) ? SEQUENCE_METHODS : LIST_METHODS, name, value as unknown[]);
}

type Method<Own> = (own: Own, args: unknown[], named: Parameters<Callable>[1]) => unknown;
type Methods<Own> = ReadonlyMap<string, Method<Own>>;

function bound<Own>(methods: Methods<Own>, name: string, own: Own): Callable | undefined {
  const method = methods.get(name);
  return method && ((args, named) => method(own, args, named));
}

const textOf = (value: unknown): string => {
  const text = textIn(value);
  if (text === undefined) throw new Error(`it takes a ${typeName(value)} for a text`);
  return text;
};
const orNone = (value: unknown) => (value === null || value === undefined ? undefined : value);
const textOrNone = (value: unknown) => (orNone(value) === undefined ? undefined : textOf(value));

const strip =
  (side: "both" | "left" | "right"): Method<string> =>
  (text, [characters]) =>
    stripped(text, side, textOrNone(characters));

const splits =
  (by: typeof split): Method<string> =>
  (text, args, named) => {
    const [separator, most = -1] = argumentsAs(["sep", "maxsplit"], args, named);
    return by(text, textOrNone(separator), asIndex(most));
  };

/** The part of a text that `start` and `end` of a method leave. */
function part(text: string, start: unknown, end: unknown): string {
  if (orNone(start) === undefined && orNone(end) === undefined) return text;
  const place = (at: unknown) => (orNone(at) === undefined ? undefined : asIndex(at));
  return charactersOf(text).slice(place(start), place(end)).join("");
}

const affix =
  (has: (text: string, other: string) => boolean): Method<string> =>
  (text, [wanted, start, end]) => {
    const all = isTuple(wanted) ? (wanted as unknown[]) : [wanted];
    return all.some((one) => has(part(text, start, end), textOf(one)));
  };

/** Where a text has another, by code points. @returns -1 where it has not */
const find =
  (from: "indexOf" | "lastIndexOf", isNeeded: boolean): Method<string> =>
  (text, [wanted, start = 0, end]) => {
    const skipped = part(text, 0, start).length;
    const at = part(text, start, end)[from](textOf(wanted));
    if (at < 0 && isNeeded) throw new Error("it looks for a text that is not there");
    return at < 0 ? -1 : charactersOf(text.slice(0, skipped + at)).length;
  };

const parts =
  (from: "indexOf" | "lastIndexOf"): Method<string> =>
  (text, [separator]) => {
    const [by, at] = [textOf(separator), text[from](textOf(separator))];
    if (at >= 0) return tuple([text.slice(0, at), by, text.slice(at + by.length)]);
    return tuple(from === "indexOf" ? [text, "", ""] : ["", "", text]);
  };

const pad =
  (put: (text: string, lack: number, fill: string) => string): Method<string> =>
  (text, [width, fill = " "]) => {
    assertModest(asIndex(width));
    return put(text, Math.max(0, asIndex(width) - lengthOf(text)!), textOf(fill));
  };

const centered = (text: string, lack: number, fill = " ") => {
  const before = Math.floor(lack / 2) + (lack & (lengthOf(text)! + lack) & 1);
  return fill.repeat(before) + text + fill.repeat(lack - before);
};

const is =
  (pattern: RegExp): Method<string> =>
  (text) =>
    pattern.test(text);

const TEXT_METHODS: Methods<string> = new Map<string, Method<string>>([
  ["strip", strip("both")],
  ["lstrip", strip("left")],
  ["rstrip", strip("right")],
  ["split", splits(split)],
  ["rsplit", splits(splitFromEnd)],
  [
    "splitlines",
    (text, args, named) => lines(text, Boolean(argumentsAs(["keepends"], args, named)[0])),
  ],
  [
    "replace",
    (text, [old, by, most = -1]) => replaced(text, textOf(old), textOf(by), asIndex(most)),
  ],
  ["startswith", affix((text, start) => text.startsWith(start))],
  ["endswith", affix((text, end) => text.endsWith(end))],
  ["upper", (text) => text.toUpperCase()],
  ["lower", (text) => text.toLowerCase()],
  ["casefold", (text) => text.toLowerCase().replaceAll("ß", "ss")],
  ["title", titled],
  ["capitalize", capitalized],
  [
    "swapcase",
    (text) =>
      text.replaceAll(/\p{Lu}|\p{Ll}/gu, (one) =>
        /\p{Lu}/u.test(one) ? one.toLowerCase() : one.toUpperCase(),
      ),
  ],
  ["find", find("indexOf", false)],
  ["rfind", find("lastIndexOf", false)],
  ["index", find("indexOf", true)],
  ["rindex", find("lastIndexOf", true)],
  [
    "count",
    (text, [wanted]) => {
      const one = textOf(wanted);
      return one === "" ? charactersOf(text).length + 1 : text.split(one).length - 1;
    },
  ],
  ["join", (text, [values]) => joined(iterate(values).map(textOf), text)],
  ["partition", parts("indexOf")],
  ["rpartition", parts("lastIndexOf")],
  [
    "removeprefix",
    (text, [start]) => (text.startsWith(textOf(start)) ? text.slice(textOf(start).length) : text),
  ],
  [
    "removesuffix",
    (text, [end]) =>
      textOf(end) !== "" && text.endsWith(textOf(end)) ? text.slice(0, -textOf(end).length) : text,
  ],
  ["ljust", pad((text, lack, fill) => text + fill.repeat(lack))],
  ["rjust", pad((text, lack, fill) => fill.repeat(lack) + text)],
  ["center", pad(centered)],
  [
    "zfill",
    pad((text, lack) =>
      /^[-+]/.test(text) ? text[0] + "0".repeat(lack) + text.slice(1) : "0".repeat(lack) + text,
    ),
  ],
  ["isspace", (text) => isSpace(text)],
  ["isdigit", is(/^\p{Nd}+$/u)],
  ["isdecimal", is(/^\p{Nd}+$/u)],
  ["isnumeric", is(/^\p{N}+$/u)],
  ["isalpha", is(/^\p{L}+$/u)],
  ["isalnum", is(/^[\p{L}\p{N}]+$/u)],
  ["isupper", is(/^[^\p{Ll}\p{Lt}]*\p{Lu}[^\p{Ll}\p{Lt}]*$/u)],
  ["islower", is(/^[^\p{Lu}\p{Lt}]*\p{Ll}[^\p{Lu}\p{Lt}]*$/u)],
  ["isascii", is(/^\p{ASCII}*$/u)],
  ["format", formattedByBraces],
]);

/** `{}`, `{0}` and `{name}` alone. */
function formattedByBraces(text: string, args: unknown[], named: Parameters<Callable>[1]): string {
  let next = 0;
  return text.replaceAll(/\{\{|\}\}|\{([^{}]*)\}|[{}]/g, (whole, name: string | undefined) => {
    if (whole === "{{" || whole === "}}") return whole[0]!;
    const place = name === "" ? next++ : /^\d+$/.test(name ?? "") ? Number(name) : undefined;
    if (place !== undefined && place < args.length) return written(args[place]);
    if (name !== undefined && named.has(name)) return written(named.get(name));
    throw new Error(`it formats with "${whole}", which Kit does not know`);
  });
}

/** As Jinja's sandbox, in which `transformers` renders. */
const unchangeable: Method<unknown> = () => {
  throw new Error("it changes a list or an object, which chat templates may not");
};

const SEQUENCE_METHODS: Methods<unknown[]> = new Map<string, Method<unknown[]>>([
  ["count", (items, [wanted]) => items.filter((item) => isEqual(item, wanted)).length],
  [
    "index",
    (items, [wanted]) => {
      const at = items.findIndex((item) => isEqual(item, wanted));
      if (at < 0) throw new Error("it looks for what a list does not have");
      return at;
    },
  ],
]);

const LIST_METHODS: Methods<unknown[]> = new Map<string, Method<unknown[]>>([
  ...SEQUENCE_METHODS,
  ["copy", (items) => [...items]],
  ...["append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"].map(
    (name): [string, Method<unknown>] => [name, unchangeable],
  ),
]);

type Dict = Map<unknown, unknown>;

const DICT_METHODS: Methods<Dict> = new Map<string, Method<Dict>>([
  [
    "get",
    (dict, [key, otherwise = null]) => (dict.has(keyOf(key)) ? dict.get(keyOf(key)) : otherwise),
  ],
  ["items", (dict) => view("dict_items", [...dict].map(tuple))],
  ["keys", (dict) => view("dict_keys", [...dict.keys()])],
  ["values", (dict) => view("dict_values", [...dict.values()])],
  ["copy", (dict) => new Map(dict)],
  ...["clear", "pop", "popitem", "setdefault", "update"].map((name): [string, Method<unknown>] => [
    name,
    unchangeable,
  ]),
]);

function view(name: string, values: unknown[]): Series {
  return new Series("view", values, () => `${name}(${representation(values)})`);
}
