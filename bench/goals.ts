import { type Unit, show } from "./figure.ts";

/** The goal that a line's figures must meet. */
export interface Goal {
  /** @param unit of the line */
  text: (unit: Unit) => string;
  isMet: (ours: number, baseline: number) => boolean;
}

export function ratioAtMost(most: number): Goal {
  return { text: () => `≤ ${most} ×`, isMet: (ours, baseline) => ours <= most * baseline };
}

export function ratioAtLeast(least: number): Goal {
  return { text: () => `≥ ${least} ×`, isMet: (ours, baseline) => ours >= least * baseline };
}

/** In the line's unit. */
export function atMost(most: number): Goal {
  return { text: (unit) => `≤ ${show(most, unit)}`, isMet: (ours) => ours <= most };
}

/** In the line's unit. */
export function atLeast(least: number): Goal {
  return { text: (unit) => `≥ ${show(least, unit)}`, isMet: (ours) => ours >= least };
}

/** The difference, in the line's unit. */
export function moreAtMost(most: number): Goal {
  return {
    text: (unit) => `≤ ${show(most, unit)} more`,
    isMet: (ours, baseline) => ours - baseline <= most,
  };
}
