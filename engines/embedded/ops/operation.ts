import type { Rope } from "../../families/dimensions.ts";
import type { LoraUpdate } from "../../lora/updateMatrices.ts";
import type { SaveOptions } from "../../training/segments.ts";
import type { Address } from "../kernels/kernels.ts";
import type { Matrix, Matmuls, Rows } from "../kernels/matmuls.ts";
import type { Thread } from "../kernels/team.ts";

/**
 * An operation's passes on one thread. Each pass waits at a barrier before it reads other threads' results, but not at
 * its end.
 */
export interface Passes {
  forward: () => void;
  /** Recomputes, from saved arrays, the results whose memory segments share. Needs no barrier. */
  recompute?: () => void;
  /**
   * Computes the gradients of its inputs and trained tensors from its result's.
   * @param accumulate whether to add to the trained tensors' previous gradients
   */
  backward: (accumulate: boolean) => void;
}

/** A planned operation: creates its passes on a thread. */
export type Operation = (context: OperationContext) => Passes;

/** The last operation: the selected positions' logits and loss. */
export type OutputHead = (context: OperationContext) => {
  /** Computes the logits. */
  forward: () => void;
  /** Computes each position's loss. */
  loss: () => void;
  /** Computes each position's loss and the gradients. */
  backward: (accumulate: boolean) => void;
};

/** A thread, with what its operations use. */
export interface OperationContext extends Thread {
  matmuls: Matmuls;
  /** Counts of the current batch, and whether the adapter is applied. */
  batch: Readonly<
    Record<"tokens" | "sequences" | "selected" | "runs", number> & { usesAdapter: boolean }
  >;
}

/** An array with a row for each token or each selected token. */
export interface Activation extends Rows {
  width: number;
  rows: "tokens" | "selected";
  grad: Rows;
  /** Whether it is the residual stream, to which operations add: their backward passes accumulate into its gradient. */
  isResidual: boolean;
}

/** A matrix and its gradient, if it is trained. */
export interface MatrixWeight extends Matrix {
  grad: Matrix | undefined;
}

/** A vector and its gradient, if it is trained. */
export interface VectorWeight {
  at: Address;
  grad: Address | undefined;
}

/** Addresses of the current batch's arrays. */
export interface BatchPlan {
  /** int32: `tokens`, `sequences`, `selected`, and 1 if the adapter is applied, or for inference `runs`. */
  counts: Address;
  /** int32 [tokens] */
  tokens: Address;
  /** int32 [tokens]: positions in their sequences, from 0. */
  positions: Address;
  /** int32 [sequences + 1]: the start of each, and the end of the last. */
  offsets: Address;
  /** int32 [sequences]: offset of each sequence's attention probabilities, in elements of one head. */
  scoreOffsets: Address;
  /** int32 [selected]: indices of the tokens whose logits are needed. */
  selected: Address;
  /** int32 [selected]: the tokens that follow them. */
  targets: Address;
  /** float32 [selected]: weights of the losses. */
  lossWeights: Address;
  /** float32 [selected]: the losses. */
  losses: Address;
}

/** A paged KV cache (`../kernels/assembly/pages.ts`). */
export interface CachePlan {
  /** Maximum tokens of a sequence. */
  context: number;
  /** Number of pages, for all sequences together. */
  pages: number;
  /** int32 [sequences, pages of the context]: each sequence's pages. */
  table: Address;
  /** int32 [tokens]: each token's row of the table. */
  tableRows: Address;
  /** int32 [sequences, RUN_WORDS]: first token, count and adapter of each run of tokens with the same adapter. */
  runs: Address;
}

/** int32 words that describe a run. */
export const RUN_WORDS = 3;

/** Positions per page. */
export const PAGE = 16;

/** Pages for `tokens` tokens. */
export function pagesOf(tokens: number): number {
  return Math.ceil(tokens / PAGE);
}

/** Maximum sizes of a batch. */
export interface BatchLimits {
  tokens: number;
  sequences: number;
  selected: number;
  /** Tokens of the longest sequence. */
  longest: number;
  /** Elements of one head's attention scores, in all sequences together. */
  scores: number;
}

/** Reserves a model's arrays while its operations are added. */
export interface Graph {
  limits: BatchLimits;
  batch: BatchPlan;
  /** Maximum threads. */
  threads: number;
  /** The KV cache; undefined for training. */
  cache: CachePlan | undefined;
  add: (operation: Operation) => void;
  /** Concatenated tensors, by name and number of rows: [sum of rows, inner]. */
  matrix: (tensors: Record<string, number>, inner: number) => MatrixWeight;
  /** Concatenated vectors, by name and size; zeros without a name. */
  vector: (tensors: readonly [name: string | undefined, count: number][]) => VectorWeight;
  /** A linear layer's LoRA update; undefined if it isn't adapted. */
  lora: (
    name: string,
    target: string,
    out: number,
    inner: number,
  ) => LoraUpdate<MatrixWeight> | undefined;
  /** For inference, the adapters' entries for a linear layer: int32 [1 + MAX_ADAPTERS, ENTRY_WORDS]. */
  adapterTable: (name: string, out: number, inner: number) => Address;
  /** An operation's result [rows, width]. */
  activation: (
    rows: Activation["rows"],
    width: number,
    options?: { isCheap?: boolean; isResidual?: boolean },
  ) => Activation;
  /** The residual plus an operation's result. It shares the residual's gradient array. */
  residual: (to: Activation) => Activation;
  /** Ends a segment: what follows needs only the residual. */
  endSegment: () => void;
  /** Memory that the forward pass saves for the backward pass. */
  saved: (count: number, options?: SaveOptions) => Address;
  /** Memory that no other operation reads. */
  scratch: (count: number) => Address;
  /** Memory that persists across steps. */
  persistent: (count: number) => Address;
  /** An array in each page of the KV cache, all of one size. @returns its address in the first page, known once all are reserved */
  inPages: (count: number) => () => Address;
  /** RoPE's cosines and sines, [positions, headDim / 2] each. */
  angles: (rope: Rope, headDim: number) => { cosines: Address; sines: Address };
}
