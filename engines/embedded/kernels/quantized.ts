import { KitError } from "../../../protocol/error.ts";
import { type BlockTypeName, BLOCK_TYPES, NUMBER_TYPES } from "../../modelFiles/numberTypes.ts";
import type { Numbers } from "../../modelFiles/weights.ts";
import type { Address, Kernels } from "./kernels.ts";
import type { Rows } from "./products.ts";
import type { Thread } from "./team.ts";

/** A matrix of quantized weights [out, in], as `assembly/quantizedBlock.ts` has it. */
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

/** Rows of weights whose numbers lie side by side. */
export const GROUP = 8;
/** Numbers of x that share a scale, at least. */
const LEAST_BLOCK = 16;
/** Bytes of a number of x, and those for each of its blocks. */
const INPUT_BYTES = 2;
const INPUT_SCALE_BYTES = 8;

/** Groups that a claim is a multiple of: a row of x multiplies four, far apart, at a time. */
const GROUP_UNIT = 4;
/** Claims per thread, so that one that is held up delays the others little. */
const CLAIMS = 3;
/** Groups of a claim, at most. Long parts are read from memory sooner. */
const MOST_GROUPS = 64;

/** Groups of a matrix's rows to claim at a time. */
function groupShare(out: number, threads: number): number {
  const groups = Math.ceil(out / GROUP);
  const even = Math.ceil(groups / (threads * CLAIMS * GROUP_UNIT)) * GROUP_UNIT;
  return Math.min(even, MOST_GROUPS);
}

/** Bytes of a matrix [out, in] in memory, with `out` rounded up to a multiple of 8. */
export function quantizedBytes(type: BlockTypeName, out: number, inner: number): number {
  const { block, placedBytes } = BLOCK_TYPES[type];
  return Math.ceil(out / GROUP) * GROUP * (inner / block) * placedBytes;
}

/** Bytes that `quantizeInput` writes for rows of any type, at most. */
export function quantizedInputBytes(rows: number, width: number): number {
  return rows * (width * INPUT_BYTES + (width / LEAST_BLOCK) * INPUT_SCALE_BYTES);
}

/** Linear maps of quantized weights, each run by all threads. */
export type QuantizedProducts = ReturnType<typeof createQuantizedProducts>;

export function createQuantizedProducts({ kernels, count }: Thread) {
  const { barrier, quantizeInput, quantizedProduct, embedQuantized } = kernels;

  /**
   * Quantizes x [rows, width] for products with weights of a type, after a barrier, because others have to have
   * written x. One result serves all matrices that x is multiplied by.
   * @param to `quantizedInputBytes`, which no product may be reading any more
   */
  function quantize(type: BlockTypeName, rows: number, width: number, x: Rows, to: Address) {
    barrier();
    quantizeInput(BLOCK_TYPES[type].id, rows, width, x.at, x.row, to);
  }

  /** y [rows, out] = added + x·Wᵀ, after a barrier. `added` lies as y does; 0 is none. */
  function linear(x: QuantizedRows, w: QuantizedMatrix, y: Rows, added: Address = 0): void {
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
      added,
      share,
    );
  }

  /** y [rows, in] = the table's rows that `ids` names, without a barrier. */
  function embed(rows: number, ids: Address, table: QuantizedMatrix, y: Address): void {
    embedQuantized(BLOCK_TYPES[table.type].id, rows, table.in, ids, table.at, y);
  }

  return { quantize, linear, embed };
}

/** Takes whole rows of a matrix, one part after another: numbers, or blocks of the matrix's type. */
export type TakeRows = (rows: Numbers | Uint8Array) => void;

/** Memory that the writer may use while it writes. */
export interface Staging {
  at: Address;
  /** At least those of a row in float32. */
  bytes: number;
}

/**
 * Quantizes a matrix while it is read: takes its whole rows in their order, any number at a time, as float32, as
 * the bits of bfloat16 or as blocks.
 * @param first the first of them in the matrix
 */
export function createQuantizedWriter(
  { quantizeWeights, placeBlocks }: Kernels,
  { buffer }: WebAssembly.Memory,
  { type, at, in: inner }: QuantizedMatrix,
  staging: Staging,
  first = 0,
): TakeRows {
  const { id, block, bytes } = BLOCK_TYPES[type];

  /** Has rows of so many elements each taken from the staging room. */
  function stage<T extends Numbers | Uint8Array>(
    rows: T,
    room: T,
    row: number,
    take: (count: number) => void,
  ) {
    const most = Math.floor(room.length / row) * row;
    for (let from = 0; from < rows.length; from += most) {
      const staged = rows.subarray(from, from + most);
      room.set(staged);
      take(staged.length / row);
      first += staged.length / row;
    }
  }

  function takeBlocks(blocks: Uint8Array): void {
    const room = new Uint8Array(buffer, staging.at, staging.bytes);
    stage(blocks, room, (inner / block) * bytes, (count) =>
      placeBlocks(id, first, count, inner, staging.at, at),
    );
  }

  return (rows) => {
    if (rows instanceof Uint8Array) return takeBlocks(rows);
    if (type !== "q8_0" && type !== "q4_0") {
      const blocks = NUMBER_TYPES[type].encode(rows);
      if (!blocks) throw tooGreat(type);
      return takeBlocks(blocks);
    }
    const isBf16 = rows instanceof Uint16Array;
    const room = isBf16
      ? new Uint16Array(buffer, staging.at, staging.bytes >>> 1)
      : new Float32Array(buffer, staging.at, staging.bytes >>> 2);
    stage<Numbers>(rows, room, inner, (count) => {
      const fits = quantizeWeights(id, first, count, inner, staging.at, isBf16, at);
      if (!fits) throw tooGreat(type);
    });
  };
}

function tooGreat(type: BlockTypeName): KitError {
  return new KitError(
    "CHECKPOINT_INVALID",
    `Some weights are too great for ${type}, or not finite. Load the model without quantize.`,
  );
}
