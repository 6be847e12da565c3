import type { Expression, Expressions } from "./expressions.ts";
import { type Bound, type Bounds, integersOf, numbersOf } from "./numbers.ts";
import { type Keywords, refused } from "./schemaNode.ts";

/** A number within its bounds. @param type `integer` or `number` */
export function numberGrammar(of: Expressions, type: string, keywords: Keywords): Expression {
  const { multipleOf, format } = keywords;
  const range = rangeOf(format);
  const isWhole = type === "integer" || multipleOf === 1 || range !== undefined;
  if (multipleOf !== undefined && multipleOf !== 1) throw refused('"multipleOf" other than 1');
  const least = tighter(bound(keywords, "minimum"), bound(keywords, "exclusiveMinimum"), 1);
  const most = tighter(bound(keywords, "maximum"), bound(keywords, "exclusiveMaximum"), -1);
  const bounds: Bounds = {
    least: tighter(least, range?.least, 1),
    most: tighter(most, range?.most, -1),
  };
  return isWhole ? integersOf(of, bounds) : numbersOf(of, bounds);
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

function bound(keywords: Keywords, name: string): Bound | undefined {
  const value = keywords[name];
  if (value === undefined) return undefined;
  if (typeof value !== "bigint" && !Number.isFinite(value))
    throw refused(`"${name}" that is no number`);
  return { value: value as number | bigint, isOpen: name.startsWith("exclusive") };
}

/** The stricter of two bounds. @param sign 1 for lower bounds */
function tighter(
  one: Bound | undefined,
  other: Bound | undefined,
  sign: number,
): Bound | undefined {
  if (!one || !other) return one ?? other;
  if (one.value < other.value) return sign > 0 ? other : one;
  if (one.value > other.value) return sign > 0 ? one : other;
  return { value: one.value, isOpen: one.isOpen || other.isOpen };
}
