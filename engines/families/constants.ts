/** Added to the mean square before its root, so that RMSNorm never divides by zero. */
export const NORM_EPSILON = 1e-5;

/**
 * Base of the rotary angles: the slowest turns about once in the context. Llama's 10,000 leaves
 * most dimensions of a small head all but still in a context this short, and learns slower.
 */
export function ropeTheta(context: number): number {
  return Math.max(100, context / 2);
}
