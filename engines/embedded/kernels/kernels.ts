// The compiler of `assembly/` writes these types, into dist/.
import type { instantiate } from "./plain.js";

/** An address in the shared memory, in bytes. */
export type Address = number;

/** The exports of `assembly/`; shapes and meaning are documented there. */
export type Kernels = Omit<
  Awaited<ReturnType<typeof instantiate>>,
  "memory" | "CONTROL_BYTES" | "OWN_BYTES"
>;

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
  wideOne: (
    type: number,
    blocks: number,
    w: Address,
    apart: number,
    x: Address,
    settings: Address,
    y: Address,
    constants: Address,
  ) => void;
  wideFour: (
    type: number,
    blocks: number,
    w: Address,
    x: Address,
    settings: Address,
    y: Address,
    constants: Address,
  ) => void;
}

export const WIDE_NAMES = [
  "wideTile",
  "wideOne",
  "wideFour",
] as const satisfies (keyof WideKernels)[];

/** Bytes of the blocks that the kernels want: `CONTROL_BYTES` and `OWN_BYTES` there. */
export const CONTROL_BYTES = 18 * 64;
/** Depth of a product's block, at most, and numbers of A that a thread can pack. */
export const MOST_DEPTH = 640;
export const PACKED_NUMBERS = 192 * MOST_DEPTH;
export const OWN_BYTES = 384 + 64 * MOST_DEPTH * 4 + PACKED_NUMBERS * 4;

/** Elements that one partial sum of `squares` is over. */
export const SQUARES_SHARE = 4096;
