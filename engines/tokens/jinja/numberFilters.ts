import { normalized } from "./arithmetic.ts";
import { taking } from "./filter.ts";
import { operate } from "./operators.ts";
import { stripped } from "./texts.ts";
import { asFloat, asIndex, isFloat, numeric, textIn, typeName } from "./values.ts";

const IS_FLOAT = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;

/** What `int` and `float` read in a text. */
const digitsIn = (value: unknown) =>
  stripped(textIn(value) ?? "", "both").replaceAll(/(?<=\d)_(?=\d)/g, "");

/** A number without its fraction. */
const truncated = (number: number) =>
  Number.isSafeInteger(Math.trunc(number)) ? Math.trunc(number) + 0 : BigInt(Math.trunc(number));

const assertDefined = (value: unknown) => {
  if (value === undefined) throw new Error("it takes what is undefined for a number");
};

export const integer = taking(["default", "base"], (value, otherwise = 0, base = 10) => {
  assertDefined(value);
  const number = numeric(value);
  if (typeof number === "bigint") return number;
  if (number !== undefined) return Number.isFinite(number) ? truncated(number) : otherwise;
  const text = digitsIn(value);
  if (asIndex(base) !== 10) {
    const read = parseInt(text, asIndex(base));
    return Number.isNaN(read) ? otherwise : read;
  }
  if (/^[-+]?\d+$/.test(text)) return normalized(BigInt(text.replace("+", "")));
  return IS_FLOAT.test(text) && Number.isFinite(Number(text)) ? truncated(Number(text)) : otherwise;
});

export const float = taking(["default"], (value, otherwise = asFloat(0)) => {
  assertDefined(value);
  const number = numeric(value);
  if (number !== undefined) return asFloat(Number(number));
  return IS_FLOAT.test(digitsIn(value)) ? asFloat(Number(digitsIn(value))) : otherwise;
});

export const round = taking(["precision", "method"], (value, precision = 0, method = "common") => {
  const number = numeric(value);
  if (number === undefined) throw new Error(`it rounds a ${typeName(value)}`);
  const places = asIndex(precision);
  const factor = 10 ** places;
  if (method === "ceil") return asFloat(Math.ceil(Number(number) * factor) / factor);
  if (method === "floor") return asFloat(Math.floor(Number(number) * factor) / factor);
  return isFloat(value) ? asFloat(rounded(Number(number), places)) : operate("+", value, 0);
});

/** To the nearest, and of two that are as near to the even one, as Python. */
function rounded(number: number, places: number): number {
  // JavaScript writes a zero without its sign.
  if (number === 0) return number;
  if (places < 0) return rounded(number * 10 ** places, 0) / 10 ** places;
  // All of a float's digits that can matter.
  const [, fraction = ""] = Math.abs(number).toFixed(100).split(".");
  const isTie = /^50*$/.test(fraction.slice(places));
  const text = number.toFixed(places);
  if (!isTie || /[02468]$/.test(text)) return Number(text);
  return Number((number - Math.sign(number) * 10 ** -places).toFixed(places));
}
