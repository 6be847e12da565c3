import { KitError } from "../../protocol/error.ts";
import type { LoraConfig } from "../../protocol/trainConfig.ts";
import type { Dimensions } from "../families/dimensions.ts";
import { type Projection, PROJECTIONS, isProjection } from "../families/projections.ts";
import { modelMaps } from "../families/tensorShapes.ts";
import {
  type StoredWeights,
  type TakeRows,
  type Weights,
  fromBfloat16,
  widened,
} from "../modelFiles/weights.ts";
import { createRandom } from "../random.ts";

/**
 * @throws KitError `CONFIG_INVALID` naming a target that does not exist, and those that do
 */
export function assertTargets(targets: string[]): asserts targets is Projection[] {
  const unknown = targets.find((target) => !isProjection(target));
  if (targets.length > 0 && unknown === undefined) return;
  const found = unknown === undefined ? "is empty" : `has "${unknown}"`;
  throw new KitError(
    "CONFIG_INVALID",
    `"lora.targetModules" must be "all-linear" or name some of ${PROJECTIONS.join(", ")}, but ${found}.`,
  );
}

/** Dimensions of an adapter's tensors, [r, in] and [out, r], by projection name and PEFT's suffix. */
export function adapterShapes(
  { r, targetModules }: LoraConfig,
  shape: Dimensions,
): Record<string, number[]> {
  assertTargets([...targetModules]);
  const shapes: Record<string, number[]> = {};
  for (const { name, target, ...map } of modelMaps(shape)) {
    if (!targetModules.includes(target)) continue;
    shapes[`${name}.lora_A.weight`] = [r, map.in];
    shapes[`${name}.lora_B.weight`] = [map.out, r];
  }
  return shapes;
}

/** A new adapter changes nothing: A is uniform within ±1/√in, B is 0. */
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

/** How its updates are scaled: by α/r, or each by its own. */
interface Scaling extends Omit<LoraConfig, "targetModules"> {
  scaleOf?: (module: string) => number;
}

/** What an adapter adds to its base's tensors, α/r · B·A, by their names. */
export function updatesOf(
  adapter: Weights,
  { r, alpha, scaleOf = () => alpha / r }: Scaling,
): Record<string, Update> {
  const updates: Record<string, Update> = {};
  for (const [name, a] of Object.entries(adapter)) {
    if (!name.endsWith(".lora_A.weight")) continue;
    const b = adapter[name.replace("lora_A", "lora_B")];
    if (!b) throw new Error(`the adapter's ${name} has no counterpart`);
    const module = name.replace(/\.lora_A\.weight$/, "");
    const [rank = r] = a.shape;
    updates[`${module}.weight`] = { a: a.data, b: b.data, r: rank, scale: scaleOf(module) };
  }
  return updates;
}

/** The base with the adapter's updates added in; new tensors, in float32, where they differ. */
export function mergeAdapter(
  base: StoredWeights,
  adapter: Weights,
  scale: Omit<LoraConfig, "targetModules">,
): StoredWeights {
  const merged = { ...base };
  for (const [name, update] of Object.entries(updatesOf(adapter, scale))) {
    const tensor = base[name];
    if (!tensor) throw new Error(`the base has no ${name}`);
    const data = widened(tensor).slice();
    addUpdate(data, update);
    merged[name] = { shape: tensor.shape, data };
  }
  return merged;
}

/** Adds an update to rows as they come, in float32, and hands them on. */
export function addingUpdate(update: Update, take: TakeRows): TakeRows {
  const { r, a } = update;
  const columns = a.length / r;
  let row = 0;
  return (rows) => {
    const data = rows instanceof Float32Array ? rows : fromBfloat16(rows);
    const count = data.length / columns;
    addUpdate(data, { ...update, b: update.b.subarray(row * r, (row + count) * r) });
    row += count;
    take(data);
  };
}

/** A low-rank change of a matrix [rows, columns], or of some of its rows. */
export interface Update {
  /** [r, columns] */
  a: Float32Array;
  /** [rows, r] */
  b: Float32Array;
  r: number;
  scale: number;
}

/** Adds scale · B·A to rows, in place. */
export function addUpdate(data: Float32Array, { a, b, r, scale }: Update): void {
  const columns = a.length / r;
  for (let i = 0, start = 0; i < b.length; i++) {
    const factor = b[i]! * scale;
    const from = (i % r) * columns;
    for (let column = 0; column < columns; column++) {
      data[start + column]! += factor * a[from + column]!;
    }
    if (i % r === r - 1) start += columns;
  }
}
