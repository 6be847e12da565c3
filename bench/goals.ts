/** What a line's figures have to hold. */
export interface Goal {
  text: string;
  isMet: (ours: number, baseline: number) => boolean;
}

export function ratioAtMost(most: number): Goal {
  return { text: `≤ ${most} ×`, isMet: (ours, baseline) => ours <= most * baseline };
}

export function ratioAtLeast(least: number): Goal {
  return { text: `≥ ${least} ×`, isMet: (ours, baseline) => ours >= least * baseline };
}

/** In the line's unit. */
export function atMost(most: number): Goal {
  return { text: `≤ ${most}`, isMet: (ours) => ours <= most };
}

/** In the line's unit. */
export function atLeast(least: number): Goal {
  return { text: `≥ ${least}`, isMet: (ours) => ours >= least };
}

/** The difference, in the line's unit. */
export function moreAtMost(most: number): Goal {
  return { text: `≤ ${most} more`, isMet: (ours, baseline) => ours - baseline <= most };
}
