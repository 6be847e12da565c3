import { appendFileSync } from "node:fs";

/** What a fault did: how often it was made, and what was wrong afterwards. All counts. */
export interface FaultRow {
  fault: string;
  times: number;
  lost: number;
  doubled: number;
  wrongStatus: number;
}

/** Faults are made this many times more in the long version, `npm run faults`. */
export const LONGER = process.env.KIT_FAULTS === "long" ? 10 : 1;

/** What `npm test` makes once, the long version makes this many times for each tenth of it. */
const CONFIDENCE = 5;

/**
 * How often to repeat what happens at random, where more of the same only makes it surer.
 * @param times how often it takes to be sure; the long version makes as many times more as of others
 */
export function repeated(times: number): number {
  return LONGER > 1 ? times * LONGER : times / CONFIDENCE;
}

/** Adds a row to the table that is printed after the tests. */
export function reportFault(row: FaultRow): void {
  const path = process.env.KIT_FAULT_ROWS;
  if (path) appendFileSync(path, `${JSON.stringify(row)}\n`);
}
