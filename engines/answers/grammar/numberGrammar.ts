import { textsOf } from "./characters.ts";
import { decimalOf, isLess } from "./decimal.ts";
import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";
import { multiplesOf } from "./multiples.ts";
import { type Bound, type Bounds, integersOf, numbersOf } from "./numbers.ts";
import { patternOf } from "./pattern.ts";
import { type Keywords, type Reading, refused, valuesOf } from "./schemaNode.ts";

/** Numbers without an exponent or zeros at the end of a fraction. */
const PLAIN = "^(?:-?[1-9][0-9]*|0|-?(?:0|[1-9][0-9]*)\\.[0-9]*[1-9])$";

/** A number within its bounds. @param type `integer` or `number` */
export function numberGrammar(
  { of, isPlain }: Reading,
  type: string,
  facts: readonly Keywords[],
): Expression {
  const ranges = valuesOf(facts, "format").flatMap((format) => rangeOf(format) ?? []);
  const bounds = (sign: number, ...names: string[]) => [
    ...names.flatMap((name) => valuesOf(facts, name).map((value) => bound(name, value))),
    ...ranges.map(({ least, most }) => (sign > 0 ? least : most)),
  ];
  const least = bounds(1, "minimum", "exclusiveMinimum").reduce(tightest(1), undefined);
  const most = bounds(-1, "maximum", "exclusiveMaximum").reduce(tightest(-1), undefined);
  const factors = valuesOf(facts, "multipleOf").map(factorOf);
  const isWhole =
    type === "integer" || ranges.length > 0 || factors.some((one) => Number.isInteger(one));
  const found = isWhole ? integersOf(of, { least, most }) : numbersOf(of, { least, most });
  const unwanted = valuesOf(facts, "notValues")
    .flat()
    .filter((one) => Number.isFinite(one) || typeof one === "bigint");
  return of.both(
    found,
    ...factors.map((factor) => multiplesOf(of, factor)),
    ...(isPlain || unwanted.length > 0 ? [patternOf(of, PLAIN), without(of, unwanted)] : []),
  );
}

/** What OpenAPI's integer formats mean. Other formats of numbers, such as `double`, bound nothing. */
function rangeOf(format: unknown): Bounds | undefined {
  const [, unsigned, size] = /^(u)?int(8|16|32|64)$/.exec(String(format)) ?? [];
  if (size === undefined) return undefined;
  const count = 2n ** BigInt(size);
  const first = unsigned === undefined ? -count / 2n : 0n;
  return {
    least: { value: first, isOpen: false },
    most: { value: first + count - 1n, isOpen: false },
  };
}

function bound(name: string, value: unknown): Bound {
  return { value: numberOf(name, value), isOpen: name.startsWith("exclusive") };
}

function numberOf(name: string, value: unknown): number | bigint {
  if (typeof value === "bigint" || Number.isFinite(value)) return value as number | bigint;
  throw refused(`"${name}" that is not a number`);
}

/** The stricter of two bounds. @param sign 1 for lower bounds */
function tightest(sign: number) {
  return (one: Bound | undefined, other: Bound | undefined): Bound | undefined => {
    if (!one || !other) return one ?? other;
    if (isLess(one.value, other.value)) return sign > 0 ? other : one;
    if (isLess(other.value, one.value)) return sign > 0 ? one : other;
    return { value: one.value, isOpen: one.isOpen || other.isOpen };
  };
}

function factorOf(value: unknown): number | bigint {
  const factor = numberOf("multipleOf", value);
  if (factor > 0) return factor;
  throw refused('"multipleOf" that is not greater than 0');
}

/** All texts but these numbers, as `PLAIN` has them. */
function without(of: Expressions, values: readonly unknown[]): Expression {
  const texts = values.map((value) => {
    const { whole, fraction } = decimalOf(magnitudeOf(value));
    return `${Number(value) < 0 ? "-" : ""}${whole}${fraction && `.${fraction}`}`;
  });
  return of.not(textsOf(of, texts));
}

function magnitudeOf(value: unknown): number | bigint {
  if (typeof value === "bigint") return value < 0n ? -value : value;
  return Math.abs(Number(value));
}
