import { bindArguments } from "./arguments.ts";
import { concatenate } from "./operators.ts";
import { repr } from "./str.ts";
import { capitalized, lines, replaced, split, splitFromEnd, stripped, titled } from "./texts.ts";
import { UnsupportedInTemplate } from "./unsupported.ts";
import {
  type Callable,
  Series,
  asIndex,
  isTuple,
  iterate,
  dictKey,
  textIn,
  tuple,
  typeName,
} from "./values.ts";

/** The method that Python's type has by this name, if any. */
export function methodOf(value: unknown, name: string): Callable | undefined {
  const text = textIn(value);
  if (text !== undefined) return bindMethod(TEXT_METHODS, name, text);
  if (value instanceof Map) return bindMethod(DICT_METHODS, name, value);
  return Array.isArray(value) && !isTuple(value)
    ? bindMethod(LIST_METHODS, name, value as unknown[])
    : undefined;
}

type Method<T> = (receiver: T, args: unknown[], kwargs: Parameters<Callable>[1]) => unknown;
type Methods<T> = ReadonlyMap<string, Method<T>>;

function bindMethod<T>(methods: Methods<T>, name: string, receiver: T): Callable | undefined {
  const method = methods.get(name);
  return method && ((args, kwargs) => method(receiver, args, kwargs));
}

const textOf = (value: unknown): string => {
  const text = textIn(value);
  if (text === undefined) throw new Error(`it uses a ${typeName(value)} as a string`);
  return text;
};
const textIfGiven = (value: unknown) =>
  value === null || value === undefined ? undefined : textOf(value);

const strip =
  (side: "both" | "left" | "right"): Method<string> =>
  (text, [characters]) =>
    stripped(text, side, textIfGiven(characters));

const splits =
  (splitText: typeof split): Method<string> =>
  (text, args, kwargs) => {
    const [separator, limit = -1] = bindArguments(["sep", "maxsplit"], args, kwargs);
    return splitText(text, textIfGiven(separator), asIndex(limit));
  };

const affix =
  (method: "startsWith" | "endsWith"): Method<string> =>
  (text, args) => {
    if (args.length > 1)
      throw new UnsupportedInTemplate("it calls startswith or endswith with a range");
    const all = isTuple(args[0]) ? (args[0] as unknown[]) : [args[0]];
    return all.some((affix) => text[method](textOf(affix)));
  };

const TEXT_METHODS: Methods<string> = new Map<string, Method<string>>([
  ["strip", strip("both")],
  ["lstrip", strip("left")],
  ["rstrip", strip("right")],
  ["split", splits(split)],
  ["rsplit", splits(splitFromEnd)],
  [
    "splitlines",
    (text, args, kwargs) => lines(text, Boolean(bindArguments(["keepends"], args, kwargs)[0])),
  ],
  [
    "replace",
    (text, [old, replacement, limit = -1]) =>
      replaced(text, textOf(old), textOf(replacement), asIndex(limit)),
  ],
  ["startswith", affix("startsWith")],
  ["endswith", affix("endsWith")],
  ["upper", (text) => text.toUpperCase()],
  ["lower", (text) => text.toLowerCase()],
  ["title", titled],
  ["capitalize", capitalized],
  ["join", (text, [values]) => concatenate(iterate(values).map(textOf), text)],
]);

const LIST_METHODS: Methods<unknown[]> = new Map<string, Method<unknown[]>>([
  ["copy", (items) => [...items]],
]);

type Dict = Map<unknown, unknown>;

/** As in Jinja's sandbox, which `transformers` uses. */
const readOnly: Method<unknown> = () => {
  throw new Error("it modifies a dict, which chat templates may not");
};

const DICT_METHODS: Methods<Dict> = new Map<string, Method<Dict>>([
  [
    "get",
    (dict, [key, fallback = null]) => (dict.has(dictKey(key)) ? dict.get(dictKey(key)) : fallback),
  ],
  ["items", (dict) => view("dict_items", [...dict].map(tuple))],
  ["keys", (dict) => view("dict_keys", [...dict.keys()])],
  ["values", (dict) => view("dict_values", [...dict.values()])],
  ["copy", (dict) => new Map(dict)],
  ...["clear", "pop", "popitem", "setdefault", "update"].map((name): [string, Method<unknown>] => [
    name,
    readOnly,
  ]),
]);

function view(name: string, values: unknown[]): Series {
  return new Series("view", values, () => `${name}(${repr(values)})`);
}
