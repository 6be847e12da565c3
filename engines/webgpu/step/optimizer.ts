import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import { ADAMW, CLIP_EPSILON } from "../../training/backend.ts";
import { type Arrays, type DeviceArray, wholeSlice } from "../device/array.ts";
import { type Dispatch, dispatch, elements, workgroups } from "../device/dispatch.ts";
import { SCALARS, SUM_SHARE, adamw, clip, sumOfSquares } from "../kernels/optimizer.ts";
import type { TrainedPage } from "../model/tensors.ts";

export interface OptimizerPlan {
  /** Computes the gradients' norm and the clip factor. */
  clip: Dispatch[];
  /** AdamW, by the step's scalars. */
  update: Dispatch[];
  scalars: DeviceArray;
}

export function planOptimizer(
  arrays: Arrays,
  pages: readonly TrainedPage[],
  { weightDecay, maxGradNorm }: Pick<TrainConfig, "weightDecay" | "maxGradNorm">,
): OptimizerPlan {
  const shares = pages.map(({ words }) => Math.ceil(words / SUM_SHARE));
  const count = shares.reduce((sum, share) => sum + share, 0);
  const sums = arrays.add("activations", count);
  const scalars = arrays.add("activations", SCALARS);
  let next = 0;
  const sumSquares = pages.map(({ gradients, words }, i) => {
    const to = next;
    next += shares[i]!;
    return dispatch(
      sumOfSquares,
      { count: words, to },
      { gradients: wholeSlice(gradients), sums: wholeSlice(sums) },
      () => workgroups(shares[i]!),
    );
  });
  const { beta1, beta2, epsilon } = ADAMW;
  const update = pages.map(({ words, decays, ...page }) =>
    dispatch(
      adamw,
      { count: words, decay: decays ? weightDecay : 0, beta1, beta2, epsilon },
      {
        gradients: wholeSlice(page.gradients),
        scalars: wholeSlice(scalars),
        weights: wholeSlice(page.weights),
        firstMoments: wholeSlice(page.firstMoments),
        secondMoments: wholeSlice(page.secondMoments),
      },
      () => elements(words),
    ),
  );
  const total = dispatch(
    clip,
    { count, maxNorm: maxGradNorm, epsilon: CLIP_EPSILON },
    { sums: wholeSlice(sums), scalars: wholeSlice(scalars) },
    () => workgroups(1),
  );
  return { clip: [...sumSquares, total], update, scalars };
}

/** A step's scalars after the clip factor. @param step counted from 1 */
export function stepScalars(step: number, rate: number): Float32Array {
  const { beta1, beta2 } = ADAMW;
  return Float32Array.of(rate, 1 - beta1 ** step, 1 - beta2 ** step);
}
