import { THREADS, kernel } from "../device/kernel.ts";
import { type StoredType, decoder, wordOf } from "./stored.ts";

const PARAMS = {
  width: "u32",
  /** The rows of the table in this part: the first, and how many. */
  first: "u32",
  rows: "u32",
  factor: "f32",
} as const;

/** x[t, :] = factor · table[tokens[t], :], of the tokens in this part of the table. */
export const embed = (type: StoredType) =>
  kernel(`embedding ${type}`, {
    params: { ...PARAMS, scales: "u32" },
    reads: { w: wordOf(type), tokens: "u32" },
    writes: { x: "f32" },
    code: `
${decoder(type)}

@compute @workgroup_size(${THREADS}) fn main(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) count: vec3u,
  @builtin(local_invocation_index) i: u32,
) {
  let element = workgroupIndex(id, count) * ${THREADS}u + i;
  let token = element / p.width;
  if (token >= batch.x || tokens[token] < p.first || tokens[token] - p.first >= p.rows) { return; }
  x[element] = p.factor * decode((tokens[token] - p.first) * p.width + element % p.width);
}`,
  });

/**
 * Adds to the table's gradient, a workgroup for each different token: its positions are `order`'s from `groups` on, so
 * that no two workgroups add to the same row.
 */
export const embedBack = kernel("embedding backward", {
  params: PARAMS,
  reads: { tokens: "u32", order: "u32", groups: "u32", dx: "f32" },
  writes: { dw: "f32" },
  code: `
@compute @workgroup_size(${THREADS}) fn main(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) count: vec3u,
  @builtin(local_invocation_index) i: u32,
) {
  let group = workgroupIndex(id, count);
  if (group >= batch.z) { return; }
  let token = tokens[order[groups[group]]];
  if (token < p.first || token - p.first >= p.rows) { return; }
  for (var column = i; column < p.width; column += ${THREADS}u) {
    var sum = 0.0;
    for (var j = groups[group]; j < groups[group + 1u]; j++) {
      sum += dx[order[j] * p.width + column];
    }
    dw[(token - p.first) * p.width + column] += p.factor * sum;
  }
}`,
});
