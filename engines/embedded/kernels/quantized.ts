import { KitError } from "../../../protocol/error.ts";
import { type BlockTypeName, BLOCK_TYPES, NUMBER_TYPES } from "../../modelFiles/numberTypes.ts";
import type { Numbers } from "../../modelFiles/weights.ts";
import type { Address, Kernels } from "./kernels.ts";
import type { Rows } from "./matmuls.ts";
import type { Thread } from "./team.ts";

/** A quantized matrix [out, in] in the layout of `assembly/quantizedBlock.ts`. */
export interface QuantizedMatrix {
  type: BlockTypeName;
  at: Address;
  out: number;
  in: number;
}

/** Rows of x that `quantizeInput` wrote. */
export interface QuantizedRows {
  at: Address;
  rows: number;
}

/** Number of rows of weights that are interleaved. */
export const GROUP = 8;
/** Minimum elements of x that share a scale. */
const MIN_BLOCK = 16;
/** Bytes of an element of x, and of a block's scale and sum. */
const INPUT_BYTES = 2;
const INPUT_SCALE_BYTES = 8;

/** A claim's groups are a multiple of this: a row of x multiplies four, far apart, at a time. */
const GROUP_UNIT = 4;
/** Claims per thread: several, so that a delayed thread holds up the others little. */
const CLAIMS = 3;
/** Maximum groups of a claim, long because memory delivers long streams faster. */
const MAX_GROUPS = 64;

/** Groups to claim at a time. */
function groupShare(out: number, threads: number): number {
  const groups = Math.ceil(out / GROUP);
  const even = Math.ceil(groups / (threads * CLAIMS * GROUP_UNIT)) * GROUP_UNIT;
  return Math.min(even, MAX_GROUPS);
}

/** Bytes of a matrix [out, in] in memory, with `out` rounded up to whole groups. */
export function quantizedBytes(type: BlockTypeName, out: number, inner: number): number {
  const { block, packedBytes } = BLOCK_TYPES[type];
  return Math.ceil(out / GROUP) * GROUP * (inner / block) * packedBytes;
}

/** Maximum bytes that `quantizeInput` writes, for any type. */
export function quantizedInputBytes(rows: number, width: number): number {
  return rows * (width * INPUT_BYTES + (width / MIN_BLOCK) * INPUT_SCALE_BYTES);
}

/** Matmuls with quantized weights, on all threads. */
export type QuantizedMatmuls = ReturnType<typeof createQuantizedMatmuls>;

export function createQuantizedMatmuls({ kernels, count }: Thread) {
  const { barrier, quantizeInput, quantizedProduct, embedQuantized } = kernels;

  /**
   * Quantizes x [rows, width], after a barrier, for products with weights of a type. The result serves all matrices
   * that x is multiplied by.
   * @param to `quantizedInputBytes` that no earlier product still reads
   */
  function quantize(type: BlockTypeName, rows: number, width: number, x: Rows, to: Address) {
    barrier();
    quantizeInput(BLOCK_TYPES[type].id, rows, width, x.at, x.row, to);
  }

  /** y [rows, out] = addend + x·Wᵀ, after a barrier. `addend` is laid out as y; 0 is none. */
  function linear(x: QuantizedRows, w: QuantizedMatrix, y: Rows, addend: Address = 0): void {
    barrier();
    const share = groupShare(w.out, count());
    quantizedProduct(
      BLOCK_TYPES[w.type].id,
      x.rows,
      w.out,
      w.in,
      w.at,
      x.at,
      y.at,
      y.row,
      addend,
      share,
    );
  }

  /** y [rows, in] = table[ids], without a barrier. */
  function embed(rows: number, ids: Address, table: QuantizedMatrix, y: Address): void {
    embedQuantized(BLOCK_TYPES[table.type].id, rows, table.in, ids, table.at, y);
  }

  return { quantize, linear, embed };
}

/** Writes consecutive whole rows of a matrix, as numbers or as blocks of its type. */
export type RowWriter = (rows: Numbers | Uint8Array) => void;

/** A buffer for rows while they are quantized. */
export interface Staging {
  at: Address;
  /** At least one row in float32. */
  bytes: number;
}

/**
 * Quantizes a matrix as it is read: takes whole rows in order, any number at a time, as float32, bfloat16 or blocks.
 * @param first index of the first row in the matrix
 */
export function createQuantizedWriter(
  { quantizeWeights, packBlocks }: Kernels,
  { buffer }: WebAssembly.Memory,
  { type, at, in: inner }: QuantizedMatrix,
  staging: Staging,
  first = 0,
): RowWriter {
  const { id, block, bytes } = BLOCK_TYPES[type];

  /** Copies rows of `row` elements to the staging buffer, as many as fit, and calls `pack` with their number. */
  function stage<T extends Numbers | Uint8Array>(
    rows: T,
    view: T,
    row: number,
    pack: (count: number) => void,
  ) {
    const maxElements = Math.floor(view.length / row) * row;
    for (let from = 0; from < rows.length; from += maxElements) {
      const staged = rows.subarray(from, from + maxElements);
      view.set(staged);
      pack(staged.length / row);
      first += staged.length / row;
    }
  }

  function writeBlocks(blocks: Uint8Array): void {
    const view = new Uint8Array(buffer, staging.at, staging.bytes);
    stage(blocks, view, (inner / block) * bytes, (count) =>
      packBlocks(id, first, count, inner, staging.at, at),
    );
  }

  return (rows) => {
    if (rows instanceof Uint8Array) return writeBlocks(rows);
    if (type !== "q8_0" && type !== "q4_0") {
      const blocks = NUMBER_TYPES[type].encode(rows);
      if (!blocks) throw tooLarge(type);
      return writeBlocks(blocks);
    }
    const isBf16 = rows instanceof Uint16Array;
    const view = isBf16
      ? new Uint16Array(buffer, staging.at, staging.bytes >>> 1)
      : new Float32Array(buffer, staging.at, staging.bytes >>> 2);
    stage<Numbers>(rows, view, inner, (count) => {
      const fits = quantizeWeights(id, first, count, inner, staging.at, isBf16, at);
      if (!fits) throw tooLarge(type);
    });
  };
}

function tooLarge(type: BlockTypeName): KitError {
  return new KitError(
    "CHECKPOINT_INVALID",
    `Some weights are too large for ${type}, or not finite. Load the model without quantize.`,
  );
}
