import { withArguments } from "./arguments.ts";
import { stripped } from "./texts.ts";
import { asFloat, numeric, textIn } from "./values.ts";

const IS_FLOAT = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;

/** The digits that `int` and `float` parse. */
const digitsIn = (value: unknown) =>
  stripped(textIn(value) ?? "", "both").replaceAll(/(?<=\d)_(?=\d)/g, "");

/** A number, or a bigint if it is too large. */
const whole = (value: bigint) => (Number.isSafeInteger(Number(value)) ? Number(value) : value);

/** A number without its fraction. */
const truncated = (number: number) => whole(BigInt(Math.trunc(number)));

const assertDefined = (value: unknown) => {
  if (value === undefined) throw new Error("it converts an undefined value to a number");
};

export const integer = withArguments(["default"], (value, otherwise = 0) => {
  assertDefined(value);
  const number = numeric(value);
  if (typeof number === "bigint") return number;
  if (number !== undefined) return Number.isFinite(number) ? truncated(number) : otherwise;
  const text = digitsIn(value);
  if (/^[-+]?\d+$/.test(text)) return whole(BigInt(text.replace("+", "")));
  return IS_FLOAT.test(text) && Number.isFinite(Number(text)) ? truncated(Number(text)) : otherwise;
});

export const float = withArguments(["default"], (value, otherwise = asFloat(0)) => {
  assertDefined(value);
  const number = numeric(value);
  if (number !== undefined) return asFloat(Number(number));
  return IS_FLOAT.test(digitsIn(value)) ? asFloat(Number(digitsIn(value))) : otherwise;
});
