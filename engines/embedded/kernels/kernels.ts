// AssemblyScript's compiler writes these types into dist/.
import type { instantiate } from "./plain.js";

/** A byte address in the shared memory. */
export type Address = number;

/** The exports of `assembly/`, documented there. */
export type Kernels = Omit<
  Awaited<ReturnType<typeof instantiate>>,
  "memory" | "CONTROL_BYTES" | "SCRATCH_BYTES"
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
    stride: number,
    x: Address,
    xScales: Address,
    y: Address,
    constants: Address,
  ) => void;
  wideFour: (
    type: number,
    blocks: number,
    w: Address,
    x: Address,
    xScales: Address,
    y: Address,
    constants: Address,
  ) => void;
}

export const WIDE_NAMES = [
  "wideTile",
  "wideOne",
  "wideFour",
] as const satisfies (keyof WideKernels)[];

/** The same as `CONTROL_BYTES` in the kernels. */
export const CONTROL_BYTES = 18 * 64;
/** Maximum depth of a product's block, and the number of elements of A that a thread can pack. */
export const MAX_DEPTH = 640;
export const PACKED_NUMBERS = 192 * MAX_DEPTH;
export const SCRATCH_BYTES = 384 + 64 * MAX_DEPTH * 4 + PACKED_NUMBERS * 4;

/** Elements of one partial sum of `sumOfSquares`. */
export const SUM_SHARE = 4096;
