import { hasPairs, isTuple, iterate, keyOf, numeric, textIn, typeName } from "./values.ts";

/** As Python's `==`, by value. */
export function isEqual(one: unknown, other: unknown): boolean {
  const [number, text] = [numeric(one), textIn(one)];
  // A bigint equals a number of its value.
  if (number !== undefined) return isSameNumber(number, numeric(other));
  if (text !== undefined) return text === textIn(other);
  if (Array.isArray(one) && Array.isArray(other)) {
    return (
      one.length === other.length &&
      isTuple(one) === isTuple(other) &&
      one.every((item, i) => isEqual(item, other[i]))
    );
  }
  if (one instanceof Map && other instanceof Map) {
    return (
      one.size === other.size &&
      [...one].every(([key, value]) => other.has(key) && isEqual(value, other.get(key)))
    );
  }
  return one === other;
}

function isSameNumber(one: number | bigint, other: number | bigint | undefined): boolean {
  return typeof one === typeof other || other === undefined
    ? one === other
    : // A bigint and a number.
      !Number.isNaN(Number(one)) && one <= other && one >= other;
}

/**
 * @returns as a comparator; NaN for NaN
 * @throws Error for values that Python can't order
 */
export function order(one: unknown, other: unknown): number {
  const [number, another] = [numeric(one), numeric(other)];
  if (number !== undefined && another !== undefined) {
    if (number < another) return -1;
    if (number > another) return 1;
    return isSameNumber(number, another) ? 0 : NaN;
  }
  const [text, second] = [textIn(one), textIn(other)];
  if (text !== undefined && second !== undefined) return orderOfTexts(text, second);
  if (Array.isArray(one) && Array.isArray(other) && isTuple(one) === isTuple(other)) {
    const first = one.findIndex((item, i) => i >= other.length || !isEqual(item, other[i]));
    if (first === -1) return one.length - other.length;
    return first >= other.length ? 1 : order(one[first], other[first]);
  }
  throw new Error(`it compares a ${typeName(one)} with a ${typeName(other)}`);
}

/** Orders by code points; JavaScript orders by UTF-16 units. */
function orderOfTexts(one: string, other: string): number {
  if (one === other) return 0;
  if (!hasPairs(one) && !hasPairs(other)) return one < other ? -1 : 1;
  const [first, second] = [one, other].map((text) => Array.from(text, (c) => c.codePointAt(0)!));
  return order(first, second);
}

/** @throws Error for a value that isn't a container */
export function contains(container: unknown, value: unknown): boolean {
  const text = textIn(container);
  if (text !== undefined) {
    const part = textIn(value);
    if (part === undefined) throw new Error(`it looks for a ${typeName(value)} in a string`);
    return text.includes(part);
  }
  if (container instanceof Map) return container.has(keyOf(value));
  return iterate(container).some((item) => item === value || isEqual(item, value));
}
