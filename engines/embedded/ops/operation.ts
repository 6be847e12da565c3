import type { Rope } from "../../families/dimensions.ts";
import type { Address } from "../kernels/kernels.ts";
import type { Matrix, Products, Rows } from "../kernels/products.ts";
import type { Thread } from "../kernels/team.ts";

/**
 * What an operation does on each thread. Each pass waits at a barrier before it reads what others wrote,
 * and ends without one.
 */
export interface Passes {
  forward: () => void;
  /**
   * Computes again those of its results that the parts of the model share, from what is kept. It waits
   * at no barrier.
   */
  recompute?: () => void;
  /**
   * The gradients of its inputs and of what is trained, from the gradient of its result.
   * @param accumulate whether to the trained tensors' gradients that are there
   */
  backward: (accumulate: boolean) => void;
}

/** An operation whose memory is placed: what it does on one thread. */
export type Operation = (worker: Worker) => Passes;

/** The last operation: the logits of the selected positions and their loss. */
export type Head = (worker: Worker) => {
  /** The logits. */
  forward: () => void;
  /** Each position's loss. */
  loss: () => void;
  /** Each position's loss, and the gradients. */
  backward: (accumulate: boolean) => void;
};

/** A thread with what its operations need. */
export interface Worker extends Thread {
  products: Products;
  /** Of the batch in work, a count each, and whether the model's adapter takes part. */
  batch: Readonly<
    Record<"tokens" | "sequences" | "selected" | "runs", number> & { usesAdapter: boolean }
  >;
}

/** What flows between operations: an array with a row for each token, or for each selected one. */
export interface Activation extends Rows {
  width: number;
  /** A count of the batch. */
  rows: "tokens" | "selected";
  grad: Rows;
  /** Whether later parts add to it. What reads it adds to its gradient. */
  isResidual: boolean;
}

/** A matrix of the model, and its gradient if it is trained. */
export interface MatrixWeight extends Matrix {
  grad: Matrix | undefined;
}

/** A vector of the model, and its gradient if it is trained. */
export interface VectorWeight {
  at: Address;
  grad: Address | undefined;
}

/** An update of one linear map among several side by side: y[from …] += scale · (x·Aᵀ)·Bᵀ. */
export interface LoraWeights {
  /** [r, in] */
  a: MatrixWeight;
  /** [out, r] */
  b: MatrixWeight;
  /** alpha / r */
  scale: number;
}

/** The arrays of the batch in work. */
export interface BatchPlan {
  /** int32: `tokens`, `sequences`, `selected`, and 1 if the adapter takes part, or the `runs` of an answering model. */
  counts: Address;
  /** int32 [tokens] */
  tokens: Address;
  /** int32 [tokens]: each token's position in its sequence, from 0. */
  positions: Address;
  /** int32 [sequences + 1]: where each begins, and the last ends. */
  offsets: Address;
  /** int32 [sequences]: elements of one head's probabilities in the sequences before. */
  squares: Address;
  /** int32 [selected]: the tokens after which logits are wanted. */
  selected: Address;
  /** int32 [selected]: the tokens that follow them. */
  targets: Address;
  /** float32 [selected]: what each one's loss counts. */
  lossWeights: Address;
  /** float32 [selected]: the losses. */
  losses: Address;
}

/** Keys and values of sequences that are answered, in pages (`../kernels/assembly/pages.ts`). */
export interface CachePlan {
  /** Tokens of the longest sequence. */
  context: number;
  /** A count, for all sequences together. */
  pages: number;
  /** int32 [sequences, pages of the context]: each sequence's pages. */
  table: Address;
  /** int32 [tokens]: the table's row of each token of the batch. */
  owners: Address;
  /** int32 [sequences, RUN_WORDS]: the first token, the count and the adapter of tokens in a row that have one. */
  runs: Address;
}

/** int32 words of a run. */
export const RUN_WORDS = 3;

/** Positions of a page. */
export const PAGE = 16;

/** Pages of so many tokens. */
export function pagesOf(tokens: number): number {
  return Math.ceil(tokens / PAGE);
}

/** What a batch has at most. */
export interface BatchLimits {
  tokens: number;
  sequences: number;
  selected: number;
  /** Tokens of the longest sequence. */
  longest: number;
  /** Elements of one head's probabilities in all sequences together. */
  squares: number;
}

/** Places the arrays of a model in memory while its operations are listed. */
export interface Graph {
  limits: BatchLimits;
  batch: BatchPlan;
  /** Threads at most. */
  threads: number;
  /** Where keys and values are kept: the model answers; undefined where it trains. */
  cache: CachePlan | undefined;
  add: (operation: Operation) => void;
  /** Tensors of these names and numbers of rows, one after another: [sum of rows, inner]. */
  matrix: (tensors: Record<string, number>, inner: number) => MatrixWeight;
  /** Vectors of these names and sizes, one after another; zeros where a name is undefined. */
  vector: (tensors: readonly [name: string | undefined, count: number][]) => VectorWeight;
  /** The update of a linear map that is adapted; undefined for others. */
  lora: (name: string, target: string, out: number, inner: number) => LoraWeights | undefined;
  /**
   * Where the adapters of an answering model have their entries for a linear map: int32 [1 + MOST_ADAPTERS,
   * ENTRY_WORDS].
   */
  adapted: (name: string, out: number, inner: number) => Address;
  /** An operation's result [rows, width]. */
  activation: (
    rows: Activation["rows"],
    width: number,
    options?: { isCheap?: boolean; isResidual?: boolean },
  ) => Activation;
  /** The sum of a residual and something else; their gradient is the same. */
  residual: (to: Activation) => Activation;
  /** Ends a part, whose operations are all added: what follows needs the residual alone. */
  endPart: () => void;
  /** Numbers that an operation's forward pass keeps for its backward pass. */
  keep: (count: number, options?: KeepOptions) => Address;
  /** Numbers of the backward pass that no later operation reads. */
  scratch: (count: number) => Address;
  /** What the next run or pass finds again, as keys and values. */
  own: (count: number) => Address;
  /** Cosines and sines of a head's angles, [positions, headDim / 2] each. */
  angles: (rope: Rope, headDim: number) => { cosines: Address; sines: Address };
}

interface KeepOptions {
  /** Whether the rest of the part gives it again in little time. */
  isCheap?: boolean;
  /** Whether it is too small to be computed again. */
  isSmall?: boolean;
}
