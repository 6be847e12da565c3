import type { Matrix, Rows } from "../kernels/operations.ts";
import type { Activations, Backlog } from "./activations.ts";
import type { AdapterPlan, Update } from "./adapterPlan.ts";
import type { Dimensions } from "./dimensions.ts";
import type { WeightPlan } from "./weightPlan.ts";

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
  updates: Update[];
  dupdates: Update[];
  /** [n, r] of each update. */
  reduced: number[];
}
