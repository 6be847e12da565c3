import type { NormKernels } from "./normKernels.ts";

/** An address in the shared memory, in bytes. */
export type Address = number;

/** The exports of `assembly/`; shapes and meaning are documented there. */
export interface Kernels extends NormKernels {
  join: (count: number, control: Address, ownScratch: Address) => void;
  barrier: () => void;
  wait: (word: Address, value: number) => void;

  setA: (a: Address, row: number, column: number) => void;
  setB: (b: Address, row: number, column: number, isBf16: number) => void;
  setC: (c: Address, row: number, added: Address, alpha: number) => void;
  product: (
    rows: number,
    columns: number,
    depth: number,
    rowShare: number,
    columnShare: number,
  ) => void;
  widen: () => void;
  vectorProduct: (
    rows: number,
    width: number,
    w: Address,
    isBf16: number,
    x: Address,
    added: Address,
    y: Address,
  ) => void;

  addBias: (rows: number, width: number, b: Address, y: Address, row: number) => void;
  biasBack: (
    rows: number,
    width: number,
    dy: Address,
    row: number,
    db: Address,
    added: Address,
  ) => void;

  rotate: (
    rows: number,
    heads: number,
    headDim: number,
    x: Address,
    row: number,
    positions: Address,
    cosines: Address,
    sines: Address,
    sign: number,
  ) => void;
  attend: (
    sequences: number,
    heads: number,
    kvHeads: number,
    headDim: number,
    row: number,
    offsets: Address,
    squares: Address,
    qkv: Address,
    probs: Address,
    out: Address,
  ) => void;
  attendBack: (
    sequences: number,
    heads: number,
    kvHeads: number,
    headDim: number,
    row: number,
    offsets: Address,
    squares: Address,
    qkv: Address,
    probs: Address,
    dOut: Address,
    dqkv: Address,
    scratch: Address,
  ) => void;
  attendCached: (
    count: number,
    heads: number,
    kvHeads: number,
    headDim: number,
    row: number,
    context: number,
    positions: Address,
    q: Address,
    keys: Address,
    values: Address,
    scores: Address,
    out: Address,
  ) => void;

  swiglu: (rows: number, intermediateSize: number, gateUp: Address, y: Address) => void;
  swigluBack: (
    rows: number,
    intermediateSize: number,
    gateUp: Address,
    dy: Address,
    dGateUp: Address,
  ) => void;

  embed: (
    rows: number,
    width: number,
    ids: Address,
    table: Address,
    isBf16: number,
    y: Address,
  ) => void;
  embedBack: (rows: number, width: number, ids: Address, dy: Address, dTable: Address) => void;
  clear: (count: number, x: Address) => void;
  copyRows: (
    rows: number,
    width: number,
    from: Address,
    fromRow: number,
    to: Address,
    toRow: number,
  ) => void;

  crossEntropy: (
    rows: number,
    vocabulary: number,
    row: number,
    logits: Address,
    targets: Address,
    weights: Address,
    losses: Address,
  ) => void;

  squares: (count: number, x: Address, partials: Address) => void;
  setAdamw: (
    scale: number,
    rate: number,
    decay: number,
    beta1: number,
    beta2: number,
    bias1: number,
    bias2: number,
    epsilon: number,
  ) => void;
  adamw: (count: number, w: Address, g: Address, m: Address, v: Address) => void;

  peak: (times: number, x: number, y: number) => number;
}

/** The exports of `assembly/wide.ts`. */
export interface WideKernels {
  wideTile: (
    depth: number,
    a: Address,
    row: number,
    step: number,
    last: number,
    b: Address,
    c: Address,
    cRow: number,
    d: Address,
    alpha: number,
  ) => void;
  widePeak: (times: number, x: number, y: number, to: Address) => void;
}

/** Bytes of the blocks that the kernels want: `CONTROL_BYTES` and `OWN_BYTES` there. */
export const CONTROL_BYTES = 18 * 64;
/** Depth of a product's block, at most, and numbers of A that a thread can pack. */
export const MOST_DEPTH = 640;
export const PACKED_NUMBERS = 192 * MOST_DEPTH;
export const OWN_BYTES = 384 + 64 * MOST_DEPTH * 4 + PACKED_NUMBERS * 4;

/** Elements that one partial sum of `squares` is over. */
export const SQUARES_SHARE = 4096;
