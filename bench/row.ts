import type { Goal } from "./goals.ts";
import type { Scope } from "./scope.ts";

/** `full` is what the goals are for, `quick` a look of a minute or two, `tiny` whether it works. */
export type Size = "full" | "quick" | "tiny";

export type Unit = "ms" | "MB" | "MB/s" | "kB" | "%" | "tokens/s" | "frames/s" | "";

/** A line of the table. */
export interface Measured {
  /** Which part of the row's work this is, where a row has more than one line. */
  part?: string;
  ours: number;
  baseline?: number;
  /** Of both figures. */
  unit: Unit;
  /** Left out where the figure is for information. */
  goal?: Goal;
}

/** A row of the table: a piece of work, and what it is compared with. */
export interface Row {
  /** As in README.md; rows that share a number are run and shown together. */
  number: number;
  work: string;
  /** What the baseline is; a dash for none. */
  baseline: string;
  /** @throws anything; the row then says so, and the others go on */
  measure: (scope: Scope) => Promise<Measured[]>;
}
