import * as v from "valibot";

export const line = v.pipe(
  v.string("a string"),
  v.regex(/^.*\S.*$/, "a non-empty, one-line string"),
);

export const text = v.pipe(v.string("a string"), v.regex(/\S/, "a non-empty string"));

export function wholeNumber(min: number) {
  const expected = `a whole number of at least ${min}`;
  return v.pipe(v.number(expected), v.safeInteger(expected), v.minValue(min, expected));
}

export function positive(max = Infinity) {
  const limit = max === Infinity ? "" : ` and at most ${max}`;
  const expected = `a number greater than 0${limit}`;
  const isWithin = (value: number) => Number.isFinite(value) && value > 0 && value <= max;
  return v.pipe(v.number(expected), v.check(isWithin, expected));
}

export function notNegative() {
  const expected = "a number of at least 0";
  return v.pipe(v.number(expected), v.finite(expected), v.minValue(0, expected));
}

/** A whole number, or a share of the total, below 1. */
export function countOrShare() {
  const expected = "a whole number of at least 0, or a share below 1";
  const isEither = (value: number) => value >= 0 && (value < 1 || Number.isSafeInteger(value));
  return v.pipe(v.number(expected), v.check(isEither, expected));
}

export function shareBelow(limit: number) {
  const expected = `a share of at least 0 and below ${limit}`;
  return v.pipe(v.number(expected), v.minValue(0, expected), v.ltValue(limit, expected));
}

export function shareOfAll() {
  const expected = "a share between 0 and 1";
  return v.pipe(v.number(expected), v.gtValue(0, expected), v.ltValue(1, expected));
}

export function oneOf<const Names extends readonly string[]>(...names: Names) {
  const quoted = names.map((name) => `"${name}"`);
  const expected = quoted.length > 1 ? `one of ${quoted.join(", ")}` : quoted.join("");
  return v.picklist(names, expected);
}
