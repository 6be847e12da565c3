import { type Dimensions, qkvWidth } from "../../llama/dimensions.ts";
import type { Arena } from "../kernels/arena.ts";
import type { Address } from "../kernels/kernels.ts";
import { type MapName, MAPS } from "./weightPlan.ts";

/** Activations that a block's forward pass saves for its backward pass; n = rows · length. */
export interface BlockActivations extends CheapActivations {
  /** Input [n, width]. */
  x: Address;
  /** What it was divided by to be `h1` [n]. */
  inverse1: Address;
  /** [n, qkvWidth], rotated. */
  qkv: Address;
  /** With norms of heads, queries and keys before them. */
  headNorms: HeadNormActivations | undefined;
  /** [n, heads · size] */
  mixed: Address;
  /** After attention [n, width]. */
  x1: Address;
  inverse2: Address;
  /** [n, 2 · hidden] */
  gateUp: Address;
  /** x·Aᵀ of each update [n, r], as the adapter's plan orders them. */
  reduced: Record<MapName, Address[]>;
}

/** Half of a block's numbers, which follow from the others in little time. */
export interface CheapActivations {
  /** x and x1, normalized [n, width]. */
  h1: Address;
  h2: Address;
  /** Softmax of the scores [rows · heads, length, length]. */
  shares: Address;
  /** [n, hidden] */
  inner: Address;
}

/**
 * What is computed again in the backward pass: blocks share its room. The results are the same to the
 * bit.
 */
export interface Recomputed {
  /** `CheapActivations` of all blocks. */
  cheap: boolean;
  /** Of so many blocks, the first, all but their inputs. */
  blocks: number;
}

export interface HeadNormActivations {
  /** [n, (heads + kvHeads) · size] */
  x: Address;
  /** Inverse norms of each head, [n, heads] and [n, kvHeads]. */
  inverse: { q: Address; k: Address };
}

export interface Activations {
  rows: number;
  length: number;
  recomputed: Recomputed;
  blocks: BlockActivations[];
  /** After the last block [n, width], normalized, and what it was divided by. */
  x: Address;
  h: Address;
  inverse: Address;
  /** [headRows, vocabulary]: the head takes so many positions at a time. */
  logits: Address;
  headRows: number;
  /** Elements from one row of them to the next. */
  logitsRow: number;
  /** Rotary angles [length, size / 2]. */
  cosines: Address;
  sines: Address;
  /** int32 [n] */
  tokens: Address;
  targets: Address;
  /** Weight of each position's loss, and the losses [n]. */
  lossWeights: Address;
  losses: Address;
}

/** Gradients with respect to activations, for one block at a time. */
export interface Backlog {
  /** [n, width] */
  dx: Address;
  dh: Address;
  /** [n, qkvWidth] */
  dqkv: Address;
  /** [n, heads · size] */
  dmixed: Address;
  /** [n, 2 · hidden] */
  dgateUp: Address;
  /** [n, hidden] */
  dinner: Address;
  /** [n, r] */
  dreduced: Address;
  /** [threads, length, length] */
  dshares: Address;
}

/** Numbers of logits at a time, at most: 64 MiB. */
const MOST_LOGITS = 2 ** 24;
/** Numbers of a cache line. */
const LINE = 16;

interface ActivationSizes {
  rows: number;
  length: number;
  /** The rank of each update of a block. */
  ranks: Record<MapName, number[]>;
  recomputed: Recomputed;
}

export function planActivations(
  arena: Arena,
  d: Dimensions,
  { rows, length, ranks, recomputed }: ActivationSizes,
): Activations {
  const n = rows * length;
  const words = (count: number) => arena.words("activations", count);
  const logitsRow = oddLines(d.vocabulary);
  const headRows = Math.min(n, Math.max(1, Math.floor(MOST_LOGITS / logitsRow)));
  const reduced = () =>
    Object.fromEntries(
      Object.keys(MAPS).map((map) => [map, ranks[map as MapName].map((r) => words(n * r))]),
    ) as Record<MapName, Address[]>;
  const headNorms = () => ({
    x: words(n * (d.heads + d.kvHeads) * d.size),
    inverse: { q: words(n * d.heads), k: words(n * d.kvHeads) },
  });
  const cheap = (): CheapActivations => ({
    h1: words(n * d.width),
    h2: words(n * d.width),
    shares: words(rows * d.heads * length * length),
    inner: words(n * d.hidden),
  });
  const block = (): Omit<BlockActivations, "x" | keyof CheapActivations> => ({
    inverse1: words(n),
    qkv: words(n * qkvWidth(d)),
    headNorms: d.headNorms ? headNorms() : undefined,
    mixed: words(n * d.heads * d.size),
    x1: words(n * d.width),
    inverse2: words(n),
    gateUp: words(n * 2 * d.hidden),
    reduced: reduced(),
  });
  const shared = recomputed.blocks > 0 ? block() : undefined;
  const sharedCheap = recomputed.cheap ? cheap() : undefined;
  return {
    ...{ rows, length, recomputed },
    blocks: Array.from({ length: d.layers }, (_, layer) => ({
      x: words(n * d.width),
      ...(shared && layer < recomputed.blocks ? shared : block()),
      ...(sharedCheap ?? cheap()),
    })),
    x: words(n * d.width),
    h: words(n * d.width),
    inverse: words(n),
    logits: words(headRows * logitsRow),
    headRows,
    logitsRow,
    cosines: words((length * d.size) / 2),
    sines: words((length * d.size) / 2),
    tokens: words(n),
    targets: words(n),
    lossWeights: words(n),
    losses: words(n),
  };
}

/**
 * The length of a long row that begins on a cache line: an odd number of lines. Where rows are a power of
 * two apart, all of a column's numbers fall on the same few places of a cache.
 */
function oddLines(count: number): number {
  return (Math.ceil(count / LINE) | 1) * LINE;
}

export function planBacklog(
  arena: Arena,
  d: Dimensions,
  { rows, length, rank, threads }: { rows: number; length: number; rank: number; threads: number },
): Backlog {
  const n = rows * length;
  const words = (count: number) => arena.words("activations", count);
  return {
    dx: words(n * d.width),
    dh: words(n * d.width),
    dqkv: words(n * qkvWidth(d)),
    dmixed: words(n * d.heads * d.size),
    dgateUp: words(n * 2 * d.hidden),
    dinner: words(n * d.hidden),
    dreduced: words(n * rank),
    dshares: words(threads * length * length),
  };
}
