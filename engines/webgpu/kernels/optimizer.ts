import { THREADS, kernel, rowSum } from "../device/kernel.ts";

/** Gradients of a workgroup's partial sum of squares. */
export const SUM_SHARE = 16_384;

/** Partial sums of squares, from `to` on. */
export const sumOfSquares = kernel("sum of squares", {
  params: { count: "u32", to: "u32" },
  reads: { gradients: "f32" },
  writes: { sums: "f32" },
  code: `${rowSum()}
@compute @workgroup_size(${THREADS}) fn main(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) count: vec3u,
  @builtin(local_invocation_index) i: u32,
) {
  let share = workgroupIndex(id, count);
  let begin = share * ${SUM_SHARE}u;
  let end = min(p.count, begin + ${SUM_SHARE}u);
  var sum = 0.0;
  for (var at = begin + i; at < end; at += ${THREADS}u) { sum += gradients[at] * gradients[at]; }
  let total = rowSum(sum, i);
  if (i == 0u && begin < p.count) { sums[p.to + share] = total; }
}`,
});

/** Words of a step's scalars: the clip factor, the rate, 1 − β^step of each moment, and the gradients' norm. */
export const SCALARS = 5;
/** Index of the norm. */
export const NORM = 4;

/** The gradients' norm and the clip factor, by one workgroup. */
export const clip = kernel("clip", {
  params: { count: "u32", maxNorm: "f32", epsilon: "f32" },
  reads: { sums: "f32" },
  writes: { scalars: "f32" },
  code: `${rowSum()}
@compute @workgroup_size(${THREADS}) fn main(@builtin(local_invocation_index) i: u32) {
  var sum = 0.0;
  for (var at = i; at < p.count; at += ${THREADS}u) { sum += sums[at]; }
  let norm = sqrt(rowSum(sum, i));
  if (i == 0u) {
    let bottom = norm + p.epsilon;
    scalars[0] = select(1.0, p.maxNorm / bottom, bottom > p.maxNorm);
    scalars[${NORM}] = norm;
  }
}`,
});

/** AdamW with clipped gradients. */
export const adamw = kernel("AdamW", {
  params: { count: "u32", decay: "f32", beta1: "f32", beta2: "f32", epsilon: "f32" },
  reads: { gradients: "f32", scalars: "f32" },
  writes: { weights: "f32", firstMoments: "f32", secondMoments: "f32" },
  code: `
@compute @workgroup_size(${THREADS}) fn main(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) count: vec3u,
  @builtin(local_invocation_index) i: u32,
) {
  let at = workgroupIndex(id, count) * ${THREADS}u + i;
  if (at >= p.count) { return; }
  let rate = scalars[1];
  let g = scalars[0] * gradients[at];
  let m = p.beta1 * firstMoments[at] + (1.0 - p.beta1) * g;
  let v = p.beta2 * secondMoments[at] + (1.0 - p.beta2) * g * g;
  firstMoments[at] = m;
  secondMoments[at] = v;
  let step = m / scalars[2] / (sqrt(v / scalars[3]) + p.epsilon);
  weights[at] = weights[at] * (1.0 - rate * p.decay) - rate * step;
}`,
});
