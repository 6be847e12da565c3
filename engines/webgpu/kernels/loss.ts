import { THREADS, kernel, rowSum } from "../device/kernel.ts";

/**
 * Each position's weighted −log probability of its target, and over its logits their gradients. A workgroup for each
 * position, from `first` on.
 */
export const crossEntropy = kernel("cross entropy", {
  params: { first: "u32", limit: "u32", vocabulary: "u32" },
  reads: { targets: "u32", lossWeights: "f32" },
  writes: { logits: "f32", losses: "f32" },
  code: `${rowSum()}
var<workgroup> highest: array<f32, ${THREADS}>;

@compute @workgroup_size(${THREADS}) fn main(
  @builtin(workgroup_id) id: vec3u,
  @builtin(local_invocation_index) i: u32,
) {
  let row = id.x;
  let position = p.first + row;
  if (row >= p.limit || position >= batch.y) { return; }
  let begin = row * p.vocabulary;
  var high = -3.4e38;
  for (var c = i; c < p.vocabulary; c += ${THREADS}u) { high = max(high, logits[begin + c]); }
  highest[i] = high;
  for (var half = ${THREADS / 2}u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (i < half) { highest[i] = max(highest[i], highest[i + half]); }
  }
  workgroupBarrier();
  high = highest[0];
  var sum = 0.0;
  for (var c = i; c < p.vocabulary; c += ${THREADS}u) { sum += exp(logits[begin + c] - high); }
  let total = rowSum(sum, i);
  let weight = lossWeights[position];
  let target_ = targets[position];
  if (i == 0u) { losses[position] = weight * (log(total) + high - logits[begin + target_]); }
  storageBarrier();
  for (var c = i; c < p.vocabulary; c += ${THREADS}u) {
    let chosen = select(0.0, 1.0, c == target_);
    logits[begin + c] = weight * (exp(logits[begin + c] - high) / total - chosen);
  }
}`,
});
