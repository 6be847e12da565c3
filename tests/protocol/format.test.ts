import { expect, test } from "vitest";
import { formatAgo, formatCount } from "../../protocol/format.ts";

test("counts are written as English writes them", () => {
  const random = Array.from({ length: 200 }, (_, n) => (n + 0.37) * 1.7 ** (n % 60));
  for (const value of [0, 0.04, 0.96, 1, 999.96, 1000, 12_345.6, 1e6, 1e15, ...random]) {
    const digits = value < 1 ? { maximumSignificantDigits: 1 } : { maximumFractionDigits: 1 };
    expect(formatCount(value)).toBe(value.toLocaleString("en", digits));
  }
});

test.each([
  [59_999, "less than a minute ago"],
  [60_000, "1 minute ago"],
  [3_599_999, "59 minutes ago"],
  [7_200_000, "2 hours ago"],
  [86_400_000, "1 day ago"],
])("%d ms ago are %s", (ms, words) => {
  expect(formatAgo(ms)).toBe(words);
});
