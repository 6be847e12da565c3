import { hasAstral, isTuple, iterate, dictKey, numeric, textIn, typeName } from "./values.ts";

/** As Python's `==`, by value. */
export function isEqual(a: unknown, b: unknown): boolean {
  const [number, text] = [numeric(a), textIn(a)];
  // A bigint equals a number of its value.
  if (number !== undefined) return isSameNumber(number, numeric(b));
  if (text !== undefined) return text === textIn(b);
  if (Array.isArray(a) && Array.isArray(b)) {
    return (
      a.length === b.length &&
      isTuple(a) === isTuple(b) &&
      a.every((item, i) => isEqual(item, b[i]))
    );
  }
  if (a instanceof Map && b instanceof Map) {
    return (
      a.size === b.size && [...a].every(([key, value]) => b.has(key) && isEqual(value, b.get(key)))
    );
  }
  return a === b;
}

function isSameNumber(a: number | bigint, b: number | bigint | undefined): boolean {
  return typeof a === typeof b || b === undefined
    ? a === b
    : // A bigint and a number.
      !Number.isNaN(Number(a)) && a <= b && a >= b;
}

/**
 * @returns a negative number, 0 or a positive number, as a comparator; NaN if either value is NaN
 * @throws Error for values that Python can't order
 */
export function compare(a: unknown, b: unknown): number {
  const [aNumber, bNumber] = [numeric(a), numeric(b)];
  if (aNumber !== undefined && bNumber !== undefined) {
    if (aNumber < bNumber) return -1;
    if (aNumber > bNumber) return 1;
    return isSameNumber(aNumber, bNumber) ? 0 : NaN;
  }
  const [aText, bText] = [textIn(a), textIn(b)];
  if (aText !== undefined && bText !== undefined) return compareTexts(aText, bText);
  if (Array.isArray(a) && Array.isArray(b) && isTuple(a) === isTuple(b)) {
    const first = a.findIndex((item, i) => i >= b.length || !isEqual(item, b[i]));
    if (first === -1) return a.length - b.length;
    return first >= b.length ? 1 : compare(a[first], b[first]);
  }
  throw new Error(`it compares a ${typeName(a)} with a ${typeName(b)}`);
}

/** Compares code points, since JavaScript compares UTF-16 units. */
function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  if (!hasAstral(a) && !hasAstral(b)) return a < b ? -1 : 1;
  const [aCodes, bCodes] = [a, b].map((text) => Array.from(text, (c) => c.codePointAt(0)!));
  return compare(aCodes, bCodes);
}

/** @throws Error for a value that isn't a container */
export function contains(container: unknown, value: unknown): boolean {
  const text = textIn(container);
  if (text !== undefined) {
    const part = textIn(value);
    if (part === undefined) throw new Error(`it looks for a ${typeName(value)} in a string`);
    return text.includes(part);
  }
  if (container instanceof Map) return container.has(dictKey(value));
  return iterate(container).some((item) => item === value || isEqual(item, value));
}
