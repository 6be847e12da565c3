import { bindArguments } from "./arguments.ts";
import { joined } from "./operators.ts";
import { repr } from "./str.ts";
import { capitalized, lines, replaced, split, splitFromEnd, stripped, titled } from "./texts.ts";
import { UnsupportedInTemplate } from "./unsupported.ts";
import {
  type Callable,
  Series,
  asIndex,
  isTuple,
  iterate,
  keyOf,
  textIn,
  tuple,
  typeName,
} from "./values.ts";

/** The Python method of that name; undefined for none. */
export function methodOf(value: unknown, name: string): Callable | undefined {
  const text = textIn(value);
  if (text !== undefined) return bound(TEXT_METHODS, name, text);
  if (value instanceof Map) return bound(DICT_METHODS, name, value);
  return Array.isArray(value) && !isTuple(value)
    ? bound(LIST_METHODS, name, value as unknown[])
    : undefined;
}

type Method<Own> = (own: Own, args: unknown[], named: Parameters<Callable>[1]) => unknown;
type Methods<Own> = ReadonlyMap<string, Method<Own>>;

function bound<Own>(methods: Methods<Own>, name: string, own: Own): Callable | undefined {
  const method = methods.get(name);
  return method && ((args, named) => method(own, args, named));
}

const textOf = (value: unknown): string => {
  const text = textIn(value);
  if (text === undefined) throw new Error(`it uses a ${typeName(value)} as a string`);
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
    const [separator, limit = -1] = bindArguments(["sep", "maxsplit"], args, named);
    return by(text, textOrNone(separator), asIndex(limit));
  };

const affix =
  (has: "startsWith" | "endsWith"): Method<string> =>
  (text, args) => {
    if (args.length > 1)
      throw new UnsupportedInTemplate("it calls startswith or endswith with a range");
    const all = isTuple(args[0]) ? (args[0] as unknown[]) : [args[0]];
    return all.some((one) => text[has](textOf(one)));
  };

const TEXT_METHODS: Methods<string> = new Map<string, Method<string>>([
  ["strip", strip("both")],
  ["lstrip", strip("left")],
  ["rstrip", strip("right")],
  ["split", splits(split)],
  ["rsplit", splits(splitFromEnd)],
  [
    "splitlines",
    (text, args, named) => lines(text, Boolean(bindArguments(["keepends"], args, named)[0])),
  ],
  [
    "replace",
    (text, [old, by, limit = -1]) => replaced(text, textOf(old), textOf(by), asIndex(limit)),
  ],
  ["startswith", affix("startsWith")],
  ["endswith", affix("endsWith")],
  ["upper", (text) => text.toUpperCase()],
  ["lower", (text) => text.toLowerCase()],
  ["title", titled],
  ["capitalize", capitalized],
  ["join", (text, [values]) => joined(iterate(values).map(textOf), text)],
]);

const LIST_METHODS: Methods<unknown[]> = new Map<string, Method<unknown[]>>([
  ["copy", (items) => [...items]],
]);

type Dict = Map<unknown, unknown>;

/** As in Jinja's sandbox, which `transformers` uses. */
const unchangeable: Method<unknown> = () => {
  throw new Error("it modifies a dict, which chat templates may not");
};

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
  return new Series("view", values, () => `${name}(${repr(values)})`);
}
