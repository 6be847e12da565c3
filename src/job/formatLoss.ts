import type { CurveExtent } from "../../protocol/curve.ts";
import { withDigits } from "../../protocol/format.ts";

/**
 * Four digits, or three and a power of ten, so that most losses fit in eight characters; more where
 * the losses of `range` would look alike. Pure.
 */
export function formatLoss(loss: number, range: CurveExtent["losses"]): string {
  const span = range.max - range.min || Infinity;
  const digits = Math.min(17, Math.max(4, exponentOf(sizeOf(range)) - exponentOf(span) + 3));
  const size = Math.abs(loss);
  if (size > 0 && (size < 1e-3 || size >= 1e7)) return loss.toExponential(digits - 2);
  return String(withDigits(loss, digits));
}

/** The largest absolute value in a range. */
export function sizeOf({ min, max }: CurveExtent["losses"]): number {
  return Math.max(Math.abs(min), Math.abs(max));
}

export function exponentOf(value: number): number {
  return Math.floor(Math.log10(value));
}
