import { numpy as np } from "@jax-js/jax";
import { type Params, take } from "../model/model.ts";

const BETA1 = 0.9;
/** Below the usual 0.999, whose memory of 1,000 steps is longer than most runs here. */
const BETA2 = 0.95;
const EPSILON = 1e-8;

/** AdamW's running means of the gradient and of its square. */
export type Moments = { first: Params; second: Params };

/** Numbers that change from step to step; as arrays, so that they do not recompile it. */
export type StepScalars = { rate: np.Array; bias1: np.Array; bias2: np.Array };

/** @param step counted from 1 */
export function stepScalars(step: number, learningRate: number): StepScalars {
  return {
    rate: np.array(learningRate),
    bias1: np.array(1 - BETA1 ** step),
    bias2: np.array(1 - BETA2 ** step),
  };
}

export function zeroMoments(params: Params): Moments {
  const zeros = () =>
    Object.fromEntries(Object.entries(params).map(([name, p]) => [name, np.zeros(p.shape)]));
  return { first: zeros(), second: zeros() };
}

/** L2 norm of all gradients together, a scalar. Does not consume them. */
function globalNorm(gradients: Params): np.Array {
  const squares = Object.values(gradients).map((g) => g.ref.mul(g.ref).sum());
  return np.sqrt(squares.reduce((sum, square) => sum.add(square)));
}

/**
 * One step of AdamW with gradients scaled down to a global norm of `maxGradNorm`. Matrices decay,
 * norms do not. Consumes nothing.
 * @returns `gradNorm` from before clipping
 */
export function adamw(
  params: Params,
  gradients: Params,
  moments: Moments,
  { rate, bias1, bias2 }: StepScalars,
  { weightDecay, maxGradNorm }: { weightDecay: number; maxGradNorm: number },
): { params: Params; moments: Moments; gradNorm: np.Array } {
  const gradNorm = globalNorm(gradients);
  const scale = np.minimum(np.array(maxGradNorm).div(gradNorm.ref.add(1e-6)), 1);
  const next: { params: Params; moments: Moments } = {
    params: {},
    moments: { first: {}, second: {} },
  };
  for (const name of Object.keys(params)) {
    const p = take(params, name);
    const g = take(gradients, name).mul(scale.ref);
    const first = take(moments.first, name)
      .mul(BETA1)
      .add(g.ref.mul(1 - BETA1));
    const second = take(moments.second, name)
      .mul(BETA2)
      .add(g.ref.mul(g).mul(1 - BETA2));
    const spread = np.sqrt(second.ref.div(bias2.ref)).add(EPSILON);
    const direction = first.ref.div(bias1.ref).div(spread);
    const decay = p.ndim > 1 ? weightDecay : 0;
    next.params[name] = p.ref.sub(direction.add(p.mul(decay)).mul(rate.ref));
    next.moments.first[name] = first;
    next.moments.second[name] = second;
  }
  scale.dispose();
  return { ...next, gradNorm };
}
