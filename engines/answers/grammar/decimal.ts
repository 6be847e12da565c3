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
  // JavaScript writes a number with a fraction with only negative exponents.
  if (exponent === "0") return { whole: BigInt(before), fraction: decimals };
  return { whole: 0n, fraction: "0".repeat(-Number(exponent) - 1) + before + decimals };
}

/** An exact comparison; QuickJS 0.17 compares negative doubles with bigints wrongly. */
export function isLess(one: number | bigint, other: number | bigint): boolean {
  if (typeof one === "bigint" && typeof other === "number") return one < BigInt(Math.ceil(other));
  if (typeof one === "number" && typeof other === "bigint") return BigInt(Math.floor(one)) < other;
  return one < other;
}

/** The adjacent double. @param direction 1 for the next greater one */
export function nextDouble(value: number, direction: 1 | -1): number {
  if (value === 0) return direction * Number.MIN_VALUE;
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const step = value > 0 === direction > 0 ? 1n : -1n;
  bits.setBigUint64(0, bits.getBigUint64(0) + step);
  return bits.getFloat64(0);
}
