import { withArguments } from "./arguments.ts";
import { stripped } from "./texts.ts";
import { asFloat, numeric, textIn } from "./values.ts";

const IS_FLOAT = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;

/** The digits that `int` and `float` parse. */
const digitsIn = (value: unknown) =>
  stripped(textIn(value) ?? "", "both").replaceAll(/(?<=\d)_(?=\d)/g, "");

/** A bigint as a number, if a number holds it exactly. */
const safeInteger = (value: bigint) =>
  Number.isSafeInteger(Number(value)) ? Number(value) : value;

/** A number without its fraction. */
const truncate = (number: number) => safeInteger(BigInt(Math.trunc(number)));

const assertDefined = (value: unknown) => {
  if (value === undefined) throw new Error("it converts an undefined value to a number");
};

export const integer = withArguments(["default"], (value, fallback = 0) => {
  assertDefined(value);
  const number = numeric(value);
  if (typeof number === "bigint") return number;
  if (number !== undefined) return Number.isFinite(number) ? truncate(number) : fallback;
  const text = digitsIn(value);
  if (/^[-+]?\d+$/.test(text)) return safeInteger(BigInt(text.replace("+", "")));
  return IS_FLOAT.test(text) && Number.isFinite(Number(text)) ? truncate(Number(text)) : fallback;
});

export const float = withArguments(["default"], (value, fallback = asFloat(0)) => {
  assertDefined(value);
  const number = numeric(value);
  if (number !== undefined) return asFloat(Number(number));
  return IS_FLOAT.test(digitsIn(value)) ? asFloat(Number(digitsIn(value))) : fallback;
});
