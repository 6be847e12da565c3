import type { Unit } from "./figure.ts";
import type { Goal } from "./goals.ts";
import type { Scope } from "./scope.ts";

/** The goals apply to `full`. `quick` takes a few minutes; `tiny` only checks that the row works. */
export type Size = "full" | "quick" | "tiny";

/** A line of the table. */
export interface Measured {
  /** Which part of the row's work this is, where a row has more than one line. */
  part?: string;
  /** How long a run was, where the figure is that of one and no median. */
  oneRunOf?: string;
  ours: number;
  baseline?: number;
  /** The baseline, where it is not the row's. */
  against?: string;
  /** The unit of both figures. */
  unit: Unit;
  /** Left out where the figure is for information. */
  goal?: Goal;
}

/** A row of the table: a piece of work, and what it is compared with. */
export interface Row {
  /** As in README.md; rows that share a number are shown together. */
  number: number;
  work: string;
  /** The baseline in words. */
  baseline?: string;
  /** @throws anything; the row then says so, and the others go on */
  measure: (scope: Scope) => Promise<Measured[]>;
}
