import type { Slice } from "./array.ts";
import { type Kernel, THREADS } from "./kernel.ts";

/** A kernel's call: its parameters, arrays and workgroups. */
export interface Dispatch {
  kernel: Kernel;
  params: Readonly<Record<string, number>>;
  arrays: Readonly<Record<string, Slice>>;
  /** Workgroups for a batch, [x, y, z]; none with a 0. */
  grid: (batch: BatchCounts) => Grid;
  /** Whether it belongs to the adapter, which a batch may leave out. */
  isAdapter?: boolean;
}

export type Grid = readonly [x: number, y: number, z: number];

/** Sizes of a batch. */
export interface BatchCounts {
  tokens: number;
  /** Tokens whose next one is learned. */
  selected: number;
  /** Different tokens. */
  distinct: number;
}

/** A kernel's call, checked against the kernel's names. */
export function dispatch<P extends string, A extends string>(
  kernel: Kernel<P, A>,
  params: Record<P, number>,
  arrays: Record<A, Slice>,
  grid: Dispatch["grid"],
): Dispatch {
  return { kernel, params, arrays, grid };
}

/** The counts' order in the kernels' `batch`. */
export const BATCH_COUNTS = [
  "tokens",
  "selected",
  "distinct",
] as const satisfies readonly (keyof BatchCounts)[];

/** WebGPU's guaranteed maximum in each dimension. */
const MAX_WORKGROUPS = 65_535;

/** A grid of so many workgroups, as `workgroupIndex` counts them. */
export function workgroups(count: number): Grid {
  const x = Math.min(count, MAX_WORKGROUPS);
  return [x, x === 0 ? 0 : Math.ceil(count / x), 1];
}

/** Workgroups with a thread for each element. */
export function elements(count: number): Grid {
  return workgroups(Math.ceil(count / THREADS));
}
