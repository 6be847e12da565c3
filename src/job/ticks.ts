import { type CurveExtent, fractionIn } from "../../protocol/curve.ts";
import { formatCount } from "../../protocol/format.ts";
import { exponentOf, formatLoss, sizeOf } from "./formatLoss.ts";

type Range = CurveExtent["steps"];

export interface Tick {
  label: string;
  /** Its position in the range, from 0 to 1. */
  at: number;
  /** Whether it is hidden on a phone. */
  isMinor?: boolean;
}

/** Desired number of intervals on an axis: few enough for a phone. */
const INTERVALS = 4;
/** Number of characters that fit the chart's margin, and its width on a phone. */
const MARGIN_LENGTH = 7;
const PHONE_LENGTH = 32;
/** Minimum gap between labels: in characters for steps, as a fraction of the height for losses. */
const MIN_GAP = { step: 0.5, loss: 0.1 };

/** Ticks at round losses, and at the lowest if none is near it; at both ends if no loss is round. Pure. */
export function lossTicks(range: Range): Tick[] {
  const gap = roundGap((range.max - range.min) / INTERVALS);
  // The widest range overflows to infinity, and the narrowest contain no round numbers.
  if (!(gap > sizeOf(range) * 2 ** -48 && gap < Infinity)) {
    return endsOf(range, (loss) => formatLoss(loss, range));
  }
  const losses = multiples(range, gap);
  const labelOf = lossLabels(losses, gap);
  const ticks = losses.map((loss) => ({ label: labelOf(loss, 0), at: fractionIn(loss, range) }));
  const [first] = ticks;
  if (first && first.at < MIN_GAP.loss) return ticks;
  const maxLength = Math.max(MARGIN_LENGTH, widest(ticks));
  const labels = [2, 1].map((extra) => withoutZeros(labelOf(range.min, extra)));
  labels.push(labelOf(range.min, 0));
  const lowestLabel = labels.find((label) => label.length <= maxLength);
  return lowestLabel === undefined || lowestLabel === first?.label
    ? ticks
    : [{ label: lowestLabel, at: 0 }, ...ticks];
}

/** Ticks at round steps with space between labels (on a phone, every other one), or at both ends. Pure. */
export function stepTicks(range: Range): Tick[] {
  for (let intervals = INTERVALS; intervals > 1; intervals--) {
    const gap = roundGap(Math.max((range.max - range.min) / intervals, 1));
    const steps = multiples(range, gap);
    const ticks = steps.map((step) => ({
      label: stepLabel(step, gap),
      at: fractionIn(step, range),
    }));
    const isMajor = (_: Tick, n: number) => areApart(ticks) || (steps[n]! / gap) % 2 === 0;
    const majors = ticks.filter(isMajor);
    if (majors.length > 1 && areApart(majors)) {
      return ticks.map((tick) => ({ ...tick, isMinor: !majors.includes(tick) }));
    }
  }
  return endsOf(range, formatCount);
}

/** The length of the longest label, in characters. */
export function widest(ticks: readonly Tick[]): number {
  return Math.max(...ticks.map(({ label }) => label.length));
}

function endsOf(range: Range, labelOf: (value: number) => string): Tick[] {
  const ends = [...new Set([range.min, range.max])];
  return ends.map((value) => ({ label: labelOf(value), at: fractionIn(value, range) }));
}

/** 1, 2 or 5 times a power of ten, whichever is nearest by ratio. */
function roundGap(approximate: number): number {
  // `10 ** -5` is less than 1e-5.
  const power = Number(`1e${exponentOf(approximate)}`);
  const digit = approximate / power;
  return power * (digit < Math.SQRT2 ? 1 : digit < 10 ** 0.5 ? 2 : digit < 50 ** 0.5 ? 5 : 10);
}

/** The multiples of `gap` in a range: at most seven. */
function multiples(range: Range, gap: number): number[] {
  // Include an end that is a multiple, in spite of rounding.
  const slack = (sizeOf(range) / gap) * 2 ** -50;
  const first = Math.ceil(range.min / gap - slack);
  const length = Math.floor(range.max / gap + slack) - first + 1;
  return Array.from({ length }, (_, n) => (first + n) * gap);
}

/**
 * One notation for an axis, with as many digits as the gap has: plain numbers where they fit the
 * margin, else the shorter of plain numbers and powers of ten.
 */
function lossLabels(losses: readonly number[], gap: number) {
  const size = Math.max(gap, ...losses.map(Math.abs));
  const digits = exponentOf(gap);
  // `toFixed` takes at most 100 decimals.
  const plain = (loss: number, extra: number) =>
    loss.toFixed(Math.min(100, Math.max(0, extra - digits)));
  const power = (loss: number) => loss.toExponential(exponentOf(size) - digits);
  const lengthOf = (labelOf: typeof plain) =>
    Math.max(...losses.map((loss) => labelOf(loss, 0).length));
  const isPlain = size < 1e21 && lengthOf(plain) <= Math.max(MARGIN_LENGTH, lengthOf(power));
  const labelOf = isPlain ? plain : power;
  // Zero can be negative, and has no unit.
  return (loss: number, extra: number) => (loss ? labelOf(loss, extra) : "0");
}

/** `0.5` for `0.50`, `0` for `-0.00`. */
function withoutZeros(label: string): string {
  return label
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "")
    .replace(/^-0$/, "0");
}

function stepLabel(step: number, gap: number): string {
  const [unit, letter] = gap >= 1e6 ? [1e6, "M"] : gap >= 1e3 ? [1e3, "k"] : [1, ""];
  return step ? formatCount(step / unit) + letter : "0";
}

/** Whether labels don't touch on a phone. The chart shifts the outer ones inside. */
function areApart(ticks: readonly Tick[]): boolean {
  let end = -Infinity;
  return ticks.every(({ label: { length }, at }) => {
    const start = Math.min(Math.max(0, at * PHONE_LENGTH - length / 2), PHONE_LENGTH - length);
    const isApart = start - end >= MIN_GAP.step;
    end = start + length;
    return isApart;
  });
}
