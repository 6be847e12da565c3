import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import { ADAMW, clipScale } from "../../training/backend.ts";
import { type Arrays, type DeviceArray, wholeSlice } from "../device/array.ts";
import { type Dispatch, dispatch, elements, workgroups } from "../device/dispatch.ts";
import { SCALARS, SUM_SHARE, adamw, sumOfSquares } from "../kernels/optimizer.ts";
import type { TrainedPage } from "../model/tensors.ts";

export interface OptimizerPlan {
  /** Computes `sums`: partial sums of the gradients' squares. */
  sumSquares: Dispatch[];
  sums: DeviceArray;
  /** AdamW, by the step's scalars. */
  update: Dispatch[];
  scalars: DeviceArray;
}

export function planOptimizer(
  arrays: Arrays,
  pages: readonly TrainedPage[],
  { weightDecay }: Pick<TrainConfig, "weightDecay">,
): OptimizerPlan {
  const shares = pages.map(({ words }) => Math.ceil(words / SUM_SHARE));
  const sums = arrays.add(
    "activations",
    shares.reduce((sum, count) => sum + count, 0),
  );
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
  return { sumSquares, sums, update, scalars };
}

/** A step's scalars. @param step counted from 1 @param norm of the gradients */
export function stepScalars(
  step: number,
  rate: number,
  norm: number,
  maxGradNorm: number,
): Float32Array {
  const { beta1, beta2 } = ADAMW;
  return Float32Array.of(clipScale(norm, maxGradNorm), rate, 1 - beta1 ** step, 1 - beta2 ** step);
}
