import constants from "../constants.json" with { type: "json" };

/** AdamW's settings, the same on every backend. */
export const ADAMW = {
  beta1: 0.9,
  /** Below the usual 0.999, whose memory of 1,000 steps is longer than most runs here. */
  beta2: constants.adamBeta2,
  epsilon: 1e-8,
} as const;

/** Added to the norm before the division, as `torch.nn.utils.clip_grad_norm_` does. */
const CLIP_EPSILON = 1e-6;

/** What gradients are multiplied by, so that their norm is at most so much. @param norm as it is */
export function clipScale(norm: number, maxGradNorm: number): number {
  return Math.min(1, maxGradNorm / (norm + CLIP_EPSILON));
}
