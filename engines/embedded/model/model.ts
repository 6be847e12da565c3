import type { Dimensions } from "../../llama/dimensions.ts";
import type { Address } from "../kernels/kernels.ts";
import type { Matrix, Rows } from "../kernels/operations.ts";
import type { Activations, Backlog } from "./activations.ts";
import type { AdapterPlan, Update } from "./adapterPlan.ts";
import { type MapName, type WeightPlan, MAPS } from "./weightPlan.ts";

/** Everything of a model in training, by its addresses. */
export interface ModelPlan {
  dimensions: Dimensions;
  weights: WeightPlan;
  /** Gradients of the weights; undefined where they are frozen. */
  gradients: WeightPlan | undefined;
  adapter: AdapterPlan;
  adapterGradients: AdapterPlan;
  /** alpha / r */
  adapterScale: number;
  activations: Activations;
  backlog: Backlog;
}

/** Rows of an array that is `row` wide. */
export function rowsAt(at: number, row: number): Rows {
  return { at, row };
}

/** The columns of wider rows from `from` on. */
export function columnsFrom({ at, row }: Rows, from: number): Rows {
  return { at: at + from * 4, row };
}

/** A linear map, its updates, and where the gradients of both go. */
export interface LinearMap {
  w: Matrix;
  dw: Matrix | undefined;
  /** [out] */
  bias: Address | undefined;
  dbias: Address | undefined;
  updates: Update[];
  dupdates: Update[];
  /** [n, r] of each update. */
  reduced: number[];
}

/** The maps of a block, by their names. */
export function blockMaps(plan: ModelPlan, layer: number): Record<MapName, LinearMap> {
  const block = plan.weights.blocks[layer];
  const activations = plan.activations.blocks[layer];
  if (!block || !activations) throw new Error(`the model has no block ${layer}`);
  const map = (name: MapName): LinearMap => ({
    w: block.maps[name],
    dw: plan.gradients?.blocks[layer]?.maps[name],
    bias: block.biases[name],
    dbias: plan.gradients?.blocks[layer]?.biases[name],
    updates: plan.adapter.blocks[layer]?.[name] ?? [],
    dupdates: plan.adapterGradients.blocks[layer]?.[name] ?? [],
    reduced: activations.reduced[name],
  });
  return Object.fromEntries(
    Object.keys(MAPS).map((name) => [name, map(name as MapName)]),
  ) as Record<MapName, LinearMap>;
}
