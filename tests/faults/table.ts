import { appendFileSync } from "node:fs";

/** How often a fault was made, and the harm that it did. All counts. */
export interface FaultRow {
  fault: string;
  times: number;
  lost: number;
  doubled: number;
  wrongStatus: number;
}

/** Faults are made this many times more in the long version, `npm run faults`. */
export const LONGER = process.env.KIT_FAULTS === "long" ? 10 : 1;

/** The short version makes only one in so many of them. */
const SAMPLED = 10;

/**
 * How often to make a fault that is repeated only to be surer: one that comes at random, say.
 * @param times in a tenth of the long version
 */
export function repeated(times: number): number {
  return LONGER > 1 ? times * LONGER : Math.ceil(times / SAMPLED);
}

/** Adds a row to the table that is printed after the tests. */
export function reportFault(row: FaultRow): void {
  const path = process.env.KIT_FAULT_ROWS;
  if (path) appendFileSync(path, `${JSON.stringify(row)}\n`);
}
