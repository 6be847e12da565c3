import type { Split, PreToken } from "./config.ts";
import type { Find } from "./pattern.ts";

/** What happens to delimiters, as named in `tokenizer.json`. */
export const BEHAVIORS = [
  "Removed",
  "Isolated",
  "MergedWithPrevious",
  "MergedWithNext",
  "Contiguous",
] as const;
export type Behavior = (typeof BEHAVIORS)[number];

interface Range {
  from: number;
  to: number;
  isMatch: boolean;
}

/** @param inverts whether matches are the pre-tokens and the rest delimiters */
export function splitBy(find: Find, behavior: Behavior, inverts = false): Split {
  const join = JOINS[behavior];
  return (preToken) => {
    const ranges = rangesOf(preToken.text, find).map((range) => ({
      ...range,
      isMatch: range.isMatch !== inverts,
    }));
    return slices(preToken, join(ranges));
  };
}

/** The non-empty slices of a pre-token. */
function slices({ text, isFirst }: PreToken, ranges: readonly { from: number; to: number }[]) {
  return ranges
    .filter(({ from, to }) => from < to)
    .map(({ from, to }): PreToken => ({
      text: text.slice(from, to),
      isFirst: isFirst && from === 0,
    }));
}

/** Partitions a text into matches and gaps. */
function rangesOf(text: string, find: Find): Range[] {
  const ranges: Range[] = [];
  let end = 0;
  for (const [from, to] of find(text)) {
    if (end < from) ranges.push({ from: end, to: from, isMatch: false });
    ranges.push({ from, to, isMatch: true });
    end = to;
  }
  if (end < text.length) ranges.push({ from: end, to: text.length, isMatch: false });
  return ranges;
}

const JOINS: Record<Behavior, (ranges: Range[]) => Range[]> = {
  Removed: (ranges) => ranges.filter(({ isMatch }) => !isMatch),
  Isolated: (ranges) => ranges,
  Contiguous: (ranges) => merge(ranges, (range, wasMatch) => range.isMatch === wasMatch),
  MergedWithPrevious: (ranges) => merge(ranges, (range, wasMatch) => range.isMatch && !wasMatch),
  MergedWithNext: (ranges) =>
    merge([...ranges].reverse(), (range, isNext) => range.isMatch && !isNext).reverse(),
};

/** @param isMerged whether a range is merged with the previous one, by whether that was a match */
function merge(ranges: readonly Range[], isMerged: (range: Range, wasMatch: boolean) => boolean) {
  const all: Range[] = [];
  let wasMatch = false;
  for (const range of ranges) {
    const last = all.at(-1);
    if (last && isMerged(range, wasMatch)) {
      last.from = Math.min(last.from, range.from);
      last.to = Math.max(last.to, range.to);
    } else all.push({ ...range });
    wasMatch = range.isMatch;
  }
  return all;
}
