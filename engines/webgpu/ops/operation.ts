import type { Rope } from "../../families/dimensions.ts";
import type { LinearLayer } from "../../families/layers.ts";
import type { SaveOptions } from "../../training/segments.ts";
import type { DeviceArray, Slice } from "../device/array.ts";
import { type Dispatch, BATCH_COUNTS } from "../device/dispatch.ts";
import type { StoredType } from "../kernels/stored.ts";

/** An operation's calls. */
export interface Operation {
  forward: Dispatch[];
  /** Recomputes, from saved arrays, the results whose memory segments share. */
  recompute?: Dispatch[];
  /**
   * Computes the gradients of its inputs and trained tensors from its result's.
   * @param adds whether to add to the trained tensors' previous gradients
   */
  backward: (adds: boolean) => Dispatch[];
}

/** The last operation: the selected positions' logits and loss. */
export interface OutputHead {
  /** Computes each position's loss. */
  loss: Dispatch[];
  /** Computes each position's loss and the gradients. */
  backward: (adds: boolean) => Dispatch[];
}

/** Which count of a batch an array's rows are. */
export type RowKind = "tokens" | "selected";

/** A kind's index in the kernels' `batch`. */
export function kindIndex(kind: RowKind): number {
  return BATCH_COUNTS.indexOf(kind);
}

/** An array with a row for each token or each selected token. */
export interface Activation {
  array: DeviceArray;
  width: number;
  rows: RowKind;
  grad: DeviceArray;
  /** Whether it is the residual stream: later operations add to it, so their backward passes add to its gradient. */
  isResidual: boolean;
}

/** Rows of a matrix in a buffer. */
export interface MatrixPart {
  /** Index of its first row, and how many. */
  first: number;
  rows: number;
  weights: Slice;
  /** For q8_0, where its scales begin. */
  scales: number;
  gradients: Slice | undefined;
}

/** A matrix [out, in], in as many parts as the adapter's limit needs. */
export interface MatrixWeight {
  type: StoredType;
  out: number;
  in: number;
  parts: readonly MatrixPart[];
  isTrained: boolean;
}

/** y += scale · (x·Aᵀ)·Bᵀ for some of the linear layers. */
export interface LoraUpdates {
  /** All layers' A, [layers · r, in] */
  a: MatrixWeight;
  /** Each layer's B, [out, r], or undefined if it isn't adapted. */
  b: (MatrixWeight | undefined)[];
  /** alpha / r */
  scale: number;
}

export interface VectorWeight {
  weights: Slice;
  gradients: Slice | undefined;
}

/** Maximum sizes of a batch. */
export interface BatchLimits {
  tokens: number;
  selected: number;
  /** Tokens of the longest sequence. */
  longest: number;
}

/** The current batch's arrays. */
export interface BatchPlan {
  /** [tokens] */
  tokens: DeviceArray;
  /** [tokens]: positions in their sequences, from 0. */
  positions: DeviceArray;
  /** [tokens]: first token of each one's sequence, and the one after its last. */
  starts: DeviceArray;
  ends: DeviceArray;
  /** [tokens]: each one's index among the selected, or `NOT_SELECTED`. */
  selectedIndex: DeviceArray;
  /** [tokens]: all, with equal ones adjacent. */
  order: DeviceArray;
  /** [tokens + 1]: where equal ones begin in `order`. */
  groups: DeviceArray;
  /** [selected]: indices of the tokens whose logits are needed. */
  selected: DeviceArray;
  /** [selected]: the tokens that follow them. */
  targets: DeviceArray;
  /** float32 [selected] */
  lossWeights: DeviceArray;
  /** float32 [selected] */
  losses: DeviceArray;
}

export const NOT_SELECTED = 0xffffffff;

/** Reserves a model's arrays while its operations are added. */
export interface Graph {
  limits: BatchLimits;
  /** Words of the adapter's largest binding. */
  maxWords: number;
  batch: BatchPlan;
  add: (operation: Operation) => void;
  /** Concatenated tensors, by name and number of rows: [sum of rows, inner]. */
  matrix: (tensors: Record<string, number>, inner: number) => MatrixWeight;
  vector: (name: string, count: number) => VectorWeight;
  /** LoRA updates of adjacent linear layers with one input; undefined if none is adapted. */
  lora: (linears: readonly LinearLayer[], inner: number) => LoraUpdates | undefined;
  /** An operation's result [rows, width]. */
  activation: (
    rows: RowKind,
    width: number,
    options?: { isCheap?: boolean; isResidual?: boolean },
  ) => Activation;
  /** The residual plus an operation's result. It shares the residual's gradient. */
  residual: (to: Activation) => Activation;
  /** Ends a segment: what follows needs only the residual. */
  endSegment: () => void;
  /** Memory that the forward pass saves for the backward pass, in words. */
  saved: (count: number, options?: SaveOptions) => DeviceArray;
  /** Memory that no other operation reads, in words. */
  scratch: (count: number) => DeviceArray;
  /** Memory of a split product's parts, which the next such product overwrites. */
  splits: DeviceArray;
  /** RoPE's cosines and sines, [positions, headDim / 2] each. */
  angles: (rope: Rope, headDim: number) => { cosines: DeviceArray; sines: DeviceArray };
}
