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

/** Adds a row to the table that is printed after the tests. */
export function reportFault(row: FaultRow): void {
  const path = process.env.KIT_FAULT_ROWS;
  if (path) appendFileSync(path, `${JSON.stringify(row)}\n`);
}
