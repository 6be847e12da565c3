import type { Goal } from "./goals.ts";
import type { Scope } from "./scope.ts";
import type { Unit } from "./unit.ts";

/** The goals apply to `full`. `quick` takes a few minutes; `tiny` only checks that the row works. */
export type Size = "full" | "quick" | "tiny";

/** A line of the table. */
export interface Measured {
  /** The measured part, if the row has several lines. */
  part?: string;
  /** Duration of the run, if the value is of one run, not a median. */
  oneRunOf?: string;
  ours: number;
  baseline?: number;
  /** The baseline, if not the row's. */
  against?: string;
  /** The unit of both values. */
  unit: Unit;
  /** Undefined for a value that is only for information. */
  goal?: Goal;
}

/** A row of the table: some work and its baseline. */
export interface Row {
  /** As in README.md. */
  number: number;
  work: string;
  /** The baseline in words. */
  baseline?: string;
  /** An error fails only this row. */
  measure: (scope: Scope) => Promise<Measured[]>;
}
