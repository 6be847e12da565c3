/** A non-negative decimal number. */
export interface Decimal {
  whole: bigint;
  /** Digits after the point, not ending in 0. */
  fraction: string;
}

/** @param value non-negative */
export function decimalOf(value: number | bigint): Decimal {
  if (typeof value === "bigint" || Number.isInteger(value)) {
    return { whole: BigInt(value), fraction: "" };
  }
  const [mantissa = "", exponent = "0"] = String(value).split("e");
  const [before = "", decimals = ""] = mantissa.split(".");
  // JavaScript writes exponents of fractions only if they are negative.
  if (exponent === "0") return { whole: BigInt(before), fraction: decimals };
  return { whole: 0n, fraction: "0".repeat(-Number(exponent) - 1) + before + decimals };
}

/** An exact comparison; QuickJS 0.17 compares negative doubles with bigints wrongly. */
export function isLess(a: number | bigint, b: number | bigint): boolean {
  if (typeof a === "bigint" && typeof b === "number") return a < BigInt(Math.ceil(b));
  if (typeof a === "number" && typeof b === "bigint") return BigInt(Math.floor(a)) < b;
  return a < b;
}

/** The adjacent double. @param direction 1 for the next greater double, -1 for the next smaller */
export function nextDouble(value: number, direction: 1 | -1): number {
  if (value === 0) return direction * Number.MIN_VALUE;
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const step = value > 0 === direction > 0 ? 1n : -1n;
  bits.setBigUint64(0, bits.getBigUint64(0) + step);
  return bits.getFloat64(0);
}
