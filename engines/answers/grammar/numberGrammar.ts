import { textsOf } from "./characters.ts";
import { decimalOf, isLess } from "./decimal.ts";
import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";
import { multiplesOf } from "./multiples.ts";
import { type Bound, type Bounds, integersOf, numbersOf } from "./numbers.ts";
import { patternOf } from "./pattern.ts";
import { type Keywords, type CompileContext, unsupported, valuesOf } from "./schemaNode.ts";

/** Numbers without an exponent or trailing zeros. */
const CANONICAL = "^(?:-?[1-9][0-9]*|0|-?(?:0|[1-9][0-9]*)\\.[0-9]*[1-9])$";

export function numberGrammar(
  { grammar, isCanonical }: CompileContext,
  type: string,
  keywordSets: readonly Keywords[],
): Expression {
  const ranges = valuesOf(keywordSets, "format").flatMap((format) => rangeOf(format) ?? []);
  const bounds = (sign: number, ...names: string[]) => [
    ...names.flatMap((name) => valuesOf(keywordSets, name).map((value) => bound(name, value))),
    ...ranges.map(({ lower, upper }) => (sign > 0 ? lower : upper)),
  ];
  const lower = bounds(1, "minimum", "exclusiveMinimum").reduce(tightest(1), undefined);
  const upper = bounds(-1, "maximum", "exclusiveMaximum").reduce(tightest(-1), undefined);
  const factors = valuesOf(keywordSets, "multipleOf").map(factorOf);
  const isInteger =
    type === "integer" || ranges.length > 0 || factors.some((factor) => Number.isInteger(factor));
  const found = isInteger
    ? integersOf(grammar, { lower, upper })
    : numbersOf(grammar, { lower, upper });
  const excluded = valuesOf(keywordSets, "notValues")
    .flat()
    .filter((value) => Number.isFinite(value) || typeof value === "bigint");
  return grammar.intersection(
    found,
    ...factors.map((factor) => multiplesOf(grammar, factor)),
    ...(isCanonical || excluded.length > 0
      ? [patternOf(grammar, CANONICAL), without(grammar, excluded)]
      : []),
  );
}

/** The range of OpenAPI's integer formats. Other number formats, such as `double`, have none. */
function rangeOf(format: unknown): Bounds | undefined {
  const [, unsigned, size] = /^(u)?int(8|16|32|64)$/.exec(String(format)) ?? [];
  if (size === undefined) return undefined;
  const count = 2n ** BigInt(size);
  const first = unsigned === undefined ? -count / 2n : 0n;
  return {
    lower: { value: first, isExclusive: false },
    upper: { value: first + count - 1n, isExclusive: false },
  };
}

function bound(name: string, value: unknown): Bound {
  return { value: numberOf(name, value), isExclusive: name.startsWith("exclusive") };
}

function numberOf(name: string, value: unknown): number | bigint {
  if (typeof value === "bigint" || Number.isFinite(value)) return value as number | bigint;
  throw unsupported(`"${name}" that is not a number`);
}

/** The stricter of two bounds. @param sign 1 for lower bounds */
function tightest(sign: number) {
  return (a: Bound | undefined, b: Bound | undefined): Bound | undefined => {
    if (!a || !b) return a ?? b;
    if (isLess(a.value, b.value)) return sign > 0 ? b : a;
    if (isLess(b.value, a.value)) return sign > 0 ? a : b;
    return { value: a.value, isExclusive: a.isExclusive || b.isExclusive };
  };
}

function factorOf(value: unknown): number | bigint {
  const factor = numberOf("multipleOf", value);
  if (factor > 0) return factor;
  throw unsupported('"multipleOf" that is not greater than 0');
}

/** Every text except these numbers in canonical form. */
function without(grammar: Expressions, values: readonly unknown[]): Expression {
  const texts = values.map((value) => {
    const { whole, fraction } = decimalOf(magnitudeOf(value));
    return `${Number(value) < 0 ? "-" : ""}${whole}${fraction && `.${fraction}`}`;
  });
  return grammar.complement(textsOf(grammar, texts));
}

function magnitudeOf(value: unknown): number | bigint {
  if (typeof value === "bigint") return value < 0n ? -value : value;
  return Math.abs(Number(value));
}
