import { expect, test } from "vitest";
import { formatCount } from "../../protocol/format.ts";

test("counts are written as English writes them", () => {
  const random = Array.from({ length: 200 }, (_, n) => (n + 0.37) * 1.7 ** (n % 60));
  for (const value of [0, 0.04, 0.96, 1, 999.96, 1000, 12_345.6, 1e6, 1e15, ...random]) {
    const digits = value < 1 ? { maximumSignificantDigits: 1 } : { maximumFractionDigits: 1 };
    expect(formatCount(value)).toBe(value.toLocaleString("en", digits));
  }
});
