/** The learning rate falls to this share of its peak. */
const FLOOR = 0.1;

/**
 * Learning rate of a step, counted from 1: linear warm-up to `peak`, then cosine to a tenth of it
 * at `maxSteps`.
 */
export function learningRate(
  step: number,
  { peak, warmupSteps, maxSteps }: { peak: number; warmupSteps: number; maxSteps: number },
): number {
  if (step < warmupSteps) return (peak * step) / warmupSteps;
  const progress = Math.min(1, (step - warmupSteps) / Math.max(1, maxSteps - warmupSteps));
  return peak * (FLOOR + ((1 - FLOOR) * (1 + Math.cos(Math.PI * progress))) / 2);
}
