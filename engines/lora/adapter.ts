import { KitError } from "../../protocol/error.ts";
import type { LoraConfig } from "../../protocol/trainConfig.ts";
import { createRandom } from "../dataset/random.ts";
import type { Dimensions } from "../families/dimensions.ts";
import { type Projection, PROJECTIONS, isProjection } from "../families/projections.ts";
import { modelLinears } from "../families/tensorShapes.ts";
import type { Weights } from "../modelFiles/weights.ts";

/** @throws KitError `CONFIG_INVALID` for an unknown target */
export function assertTargets(targets: string[]): asserts targets is Projection[] {
  const unknown = targets.find((target) => !isProjection(target));
  if (targets.length > 0 && unknown === undefined) return;
  const found = unknown === undefined ? "is empty" : `has "${unknown}"`;
  throw new KitError(
    "CONFIG_INVALID",
    `"lora.targetModules" must be "all-linear" or name some of ${PROJECTIONS.join(", ")}, but ${found}.`,
  );
}

/** Shapes of an adapter's tensors, [r, in] and [out, r], by projection and PEFT's suffix. */
export function adapterShapes(
  { r, targetModules }: LoraConfig,
  shape: Dimensions,
): Record<string, number[]> {
  assertTargets([...targetModules]);
  const shapes: Record<string, number[]> = {};
  for (const { name, target, ...linear } of modelLinears(shape)) {
    if (!targetModules.includes(target)) continue;
    shapes[`${name}.lora_A.weight`] = [r, linear.in];
    shapes[`${name}.lora_B.weight`] = [linear.out, r];
  }
  return shapes;
}

/** A new adapter, which changes nothing yet: A is uniform within ±1/√in, B is 0. */
export function randomAdapter(lora: LoraConfig, shape: Dimensions, seed: number): Weights {
  const weights: Weights = {};
  for (const [name, dimensions] of Object.entries(adapterShapes(lora, shape))) {
    const [rows = 0, columns = 0] = dimensions;
    const data = new Float32Array(rows * columns);
    if (name.endsWith("lora_A.weight")) {
      const random = createRandom(seed, name);
      const bound = 1 / Math.sqrt(columns);
      for (let i = 0; i < data.length; i++) data[i] = (2 * random.uniform() - 1) * bound;
    }
    weights[name] = { shape: dimensions, data };
  }
  return weights;
}
