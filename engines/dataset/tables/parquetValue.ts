import type { SchemaElement, SchemaTree } from "hyparquet";
import { WholeFloat, objectOf, parseJson } from "../../../protocol/json.ts";
import { timeFormatter } from "./parquetTime.ts";
import { invalid } from "./tableRow.ts";

type Fail = (problem: string) => never;
type OnText = (length: number) => void;
/** Converts a non-null value to JSON. */
type Convert = (value: unknown, fail: Fail) => unknown;

/**
 * Converts a column's values to JSON as pyarrow reads them, with timestamps in ISO 8601.
 * @param onText called with the length of each text
 * @returns a function that throws KitError `DATASET_INVALID` for values that JSON can't hold
 */
export function converterOf(
  column: SchemaTree,
  onText: OnText,
): (value: unknown, where: string) => unknown {
  const convert = nullable(nodeConverter(column, onText));
  const name = JSON.stringify(column.element.name);
  return (value, where) =>
    convert(value, (problem) => {
      throw invalid(where, `column ${name} ${problem}`);
    });
}

function nullable(convert: Convert): Convert {
  return (value, fail) => (value === null || value === undefined ? null : convert(value, fail));
}

function nodeConverter(node: SchemaTree, onText: OnText): Convert {
  const { element, children } = node;
  const [first, ...others] = children;
  if (!first)
    return isKind(element, "JSON") ? (value) => value : repeatable(leafConverter(element, onText));
  if (element.logical_type?.type === "VARIANT") {
    return (_, fail) => fail("is a VARIANT. Save it as text, with JSON in it.");
  }
  if (element.converted_type === "LIST" && others.length === 0) {
    // As in hyparquet: some lists have no level between the list and its items.
    const item = first.children.length === 1 ? first.children[0] : first;
    return listConverter(nodeConverter(item ?? first, onText));
  }
  const [, mapped] = first.children;
  if (element.converted_type === "MAP" && mapped) {
    const convert = nullable(nodeConverter(mapped, onText));
    return (value, fail) => {
      const map = value as Record<string, unknown>;
      return objectOf(Object.keys(map), (key) => convert(map[key], fail));
    };
  }
  return repeatable(structConverter(children, onText));
}

function listConverter(convert: Convert): Convert {
  const convertItem = nullable(convert);
  return (value, fail) => (value as unknown[]).map((item) => convertItem(item, fail));
}

/** A repeated field is a list without that annotation. */
function repeatable(convert: Convert): Convert {
  const convertList = listConverter(convert);
  return (value, fail) => (Array.isArray(value) ? convertList : convert)(value, fail);
}

function structConverter(children: SchemaTree[], onText: OnText): Convert {
  const names = children.map(({ element }) => element.name);
  const converters = new Map(
    children.map((child) => [child.element.name, nullable(nodeConverter(child, onText))] as const),
  );
  return (value, fail) => {
    const struct = value as Record<string, unknown>;
    return objectOf(names, (name) => converters.get(name)?.(struct[name], fail));
  };
}

function leafConverter(element: SchemaElement, onText: OnText): Convert {
  const formatTime = timeFormatter(element);
  if (formatTime) {
    return (value, fail) =>
      formatTime(value as number | bigint) ??
      fail("has a date that is out of range. Save the column as text.");
  }
  if (isKind(element, "DECIMAL")) {
    const { scale = 0 } = element;
    return (value) => decimal(unscaled(value), scale);
  }
  const isFloat =
    element.type === "FLOAT" || element.type === "DOUBLE" || isKind(element, "FLOAT16");
  const isText = isKind(element, "ENUM");
  return (value, fail) => {
    if (typeof value === "number" && isFloat) return float(value);
    if (typeof value === "bigint") return integer(value);
    if (typeof value === "string") onText(value.length);
    if (!ArrayBuffer.isView(value)) return value;
    if (isText) return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString();
    return fail("is binary, or text that is not UTF-8. Save it as UTF-8 text, or remove it.");
  };
}

function isKind({ logical_type: logical, converted_type: converted }: SchemaElement, kind: string) {
  return logical?.type === kind || converted === kind;
}

function integer(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** pandas stores missing numbers as NaN, and writes them as null in JSON. */
function float(value: number): unknown {
  if (!Number.isFinite(value)) return null;
  return Number.isInteger(value) ? new WholeFloat(value) : value;
}

/** A decimal's digits without the point. */
function unscaled(value: unknown): bigint {
  if (!(value instanceof Uint8Array)) return BigInt(value as number | bigint);
  const hex = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex");
  return BigInt.asIntN(8 * value.length, BigInt(`0x${hex || "0"}`));
}

/** A number if that keeps all digits; otherwise text, as pandas writes decimals. */
function decimal(unscaled: bigint, scale: number): unknown {
  if (scale === 0) return integer(unscaled);
  const sign = unscaled < 0n ? "-" : "";
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, "0");
  const text = `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
  return Number(text).toFixed(scale) === text ? parseJson(text) : text;
}
