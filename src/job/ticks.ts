import { type CurveExtent, share } from "../../protocol/curve.ts";
import { formatCount } from "../../protocol/format.ts";

type Range = CurveExtent["steps"];

/** A round value on an axis. */
export interface Tick {
  label: string;
  /** Its place in the range, from 0 to 1. */
  at: number;
}

/** Intervals that an axis would like to have: few enough for a phone. */
const INTERVALS = 4;
/** Characters that fit the chart's margin. */
const MAX_LABEL = 7;

/** The round losses in a range. Pure. */
export function lossTicks(range: Range): Tick[] {
  return ticksIn(range, 0, labelOfLoss);
}

/** The round steps in a range. Pure. */
export function stepTicks(range: Range): Tick[] {
  return ticksIn(range, 1, labelOfStep);
}

/** Multiples of 1, 2 or 5 times a power of ten, at most seven; without labels that don't fit. */
function ticksIn(
  range: Range,
  minGap: number,
  labelOf: (value: number, gap: number) => string,
): Tick[] {
  const rough = Math.max((range.max - range.min) / INTERVALS, minGap);
  const power = 10 ** exponentOf(rough);
  const digit = rough / power;
  // Between two, the nearer by ratio.
  const gap = power * (digit < Math.SQRT2 ? 1 : digit < 10 ** 0.5 ? 2 : digit < 50 ** 0.5 ? 5 : 10);
  // The widest range is infinite, and the narrowest has no power of ten.
  if (!(gap > 0 && gap < Infinity)) return [];
  const first = Math.ceil(range.min / gap);
  const values = Array.from(
    { length: Math.floor(range.max / gap) - first + 1 },
    (_, n) => (first + n) * gap,
  );
  return (
    values
      // Zero can be negative, and has no unit.
      .map((value) => ({ label: value ? labelOf(value, gap) : "0", at: share(value, range) }))
      .filter(({ label }) => label.length <= MAX_LABEL)
  );
}

/** As many digits as the gap has, so that all labels of an axis are alike. */
function labelOfLoss(value: number, gap: number): string {
  const size = Math.max(Math.abs(value), gap);
  const digits = exponentOf(gap);
  if (size < 1e5 && gap >= 1e-5) return value.toFixed(Math.max(0, -digits));
  return value.toExponential(exponentOf(size) - digits);
}

function labelOfStep(value: number, gap: number): string {
  const [unit, letter] = gap >= 1e6 ? [1e6, "M"] : gap >= 1e3 ? [1e3, "k"] : [1, ""];
  return formatCount(value / unit) + letter;
}

function exponentOf(value: number): number {
  return Math.floor(Math.log10(value));
}
