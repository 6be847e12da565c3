import { type Unit, show } from "./unit.ts";

/** The goal of a line's values. */
export interface Goal {
  /** @param unit of the line */
  text: (unit: Unit) => string;
  isMet: (ours: number, baseline: number) => boolean;
}

export function ratioAtMost(limit: number): Goal {
  return { text: () => `≤ ${limit} ×`, isMet: (ours, baseline) => ours <= limit * baseline };
}

export function ratioAtLeast(limit: number): Goal {
  return { text: () => `≥ ${limit} ×`, isMet: (ours, baseline) => ours >= limit * baseline };
}

/** In the line's unit. */
export function atMost(limit: number): Goal {
  return { text: (unit) => `≤ ${show(limit, unit)}`, isMet: (ours) => ours <= limit };
}

/** In the line's unit. */
export function atLeast(limit: number): Goal {
  return { text: (unit) => `≥ ${show(limit, unit)}`, isMet: (ours) => ours >= limit };
}

/** The difference, in the line's unit. */
export function moreAtMost(limit: number): Goal {
  return {
    text: (unit) => `≤ ${show(limit, unit)} more`,
    isMet: (ours, baseline) => ours - baseline <= limit,
  };
}
