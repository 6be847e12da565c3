import { encodeUtf8 } from "./encodeUtf8.ts";
import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";

/** An inclusive range of code points. */
export type Range = readonly [first: number, last: number];

const MAX_CODE_POINT = 0x10ffff;
/** UTF-16 surrogates, which are not characters. */
const SURROGATES: Range = [0xd800, 0xdfff];
export const ANY_CHAR: readonly Range[] = without([[0, MAX_CODE_POINT]], [SURROGATES]);

/** Merges ranges, in ascending order. */
export function union(ranges: readonly Range[]): Range[] {
  const joined: [number, number][] = [];
  for (const [first, last] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const before = joined.at(-1);
    if (before && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else joined.push([first, last]);
  }
  return joined;
}

export function without(ranges: readonly Range[], others: readonly Range[]): Range[] {
  const remaining: Range[] = [];
  const removed = union(others);
  let next = 0;
  for (const [first, last] of union(ranges)) {
    let from = first;
    while (next < removed.length && removed[next]![1] < from) next++;
    for (let i = next; i < removed.length && removed[i]![0] <= last; i++) {
      if (from < removed[i]![0]) remaining.push([from, removed[i]![0] - 1]);
      from = removed[i]![1] + 1;
    }
    if (from <= last) remaining.push([from, last]);
  }
  return remaining;
}

const cache = new WeakMap<Expressions, Map<string, Expression>>();

/** One of these characters in a JSON string: raw, or escaped where JSON requires it. */
export function characterOf(grammar: Expressions, ranges: readonly Range[]): Expression {
  const cached = cache.get(grammar) ?? new Map<string, Expression>();
  cache.set(grammar, cached);
  const key = ranges.join(";");
  const found = cached.get(key) ?? charactersOf(grammar, ranges);
  cached.set(key, found);
  return found;
}

function charactersOf(grammar: Expressions, ranges: readonly Range[]): Expression {
  const merged = union(ranges);
  const unescaped = without(merged, [[0, 0x1f], [0x22, 0x22], [0x5c, 0x5c], SURROGATES]);
  const has = (code: number) => merged.some(([first, last]) => first <= code && code <= last);
  const mustEscape = [...Array.from({ length: 0x20 }, (_, code) => code), 0x22, 0x5c].filter(has);
  const escaped = mustEscape.map((code) => JSON.stringify(String.fromCharCode(code)).slice(1, -1));
  return grammar.either(utf8(grammar, unescaped), textsOf(grammar, escaped));
}

/** One of these characters, unescaped. */
export function bareCharacterOf(grammar: Expressions, ranges: readonly Range[]): Expression {
  return utf8(grammar, without(ranges, [SURROGATES]));
}

export function textsOf(grammar: Expressions, texts: readonly string[]): Expression {
  return encodedOf(grammar, texts.map(encodeUtf8));
}

/** Any of these texts. They are UTF-8, with one character per byte. */
export function encodedOf(grammar: Expressions, texts: readonly string[]): Expression {
  const sorted = [...new Set(texts)].sort();
  return branchByPrefix(grammar, sorted, 0, sorted.length, 0);
}

/** The sorted texts from `from` to `to`, without their first `at` bytes, which are equal. Branches one byte at a time. */
function branchByPrefix(
  grammar: Expressions,
  sorted: readonly string[],
  from: number,
  to: number,
  at: number,
): Expression {
  const [first, last] = [sorted[from], sorted[to - 1]];
  if (first === undefined || last === undefined) return grammar.none;
  let shared = at;
  while (shared < first.length && first[shared] === last[shared]) shared++;
  const head = grammar.encoded(first.slice(at, shared));
  const choices: Expression[] = [];
  let start = from;
  if (first.length === shared) {
    choices.push(grammar.empty);
    start++;
  }
  for (let end = start; start < to; start = end) {
    while (end < to && sorted[end]![shared] === sorted[start]![shared]) end++;
    choices.push(branchByPrefix(grammar, sorted, start, end, shared));
  }
  return grammar.sequence(head, grammar.either(...choices));
}

/** The last character of each UTF-8 length. */
const LAST_BY_LENGTH: readonly (readonly [last: number, bytes: number])[] = [
  [0x7f, 1],
  [0x7ff, 2],
  [0xffff, 3],
  [MAX_CODE_POINT, 4],
];

/** Steps per range of characters. */
const STEPS_PER_RANGE = 4;

/** One of these characters, in UTF-8. */
function utf8(grammar: Expressions, ranges: readonly Range[]): Expression {
  grammar.spendSteps(STEPS_PER_RANGE * ranges.length);
  const paths: Range[][] = [];
  for (const [first, last] of ranges) {
    let from = first;
    for (const [longest] of LAST_BY_LENGTH) {
      if (from > longest || from > last) continue;
      const to = Math.min(last, longest);
      paths.push(...byteRanges(bytesOf(from), bytesOf(to)));
      from = to + 1;
    }
  }
  return branchByByte(grammar, paths);
}

function bytesOf(code: number): number[] {
  return [...encodeUtf8(String.fromCodePoint(code))].map((byte) => byte.charCodeAt(0));
}

/** Byte sequences between two of equal length; all bytes but the first range from 0x80 to 0xbf. */
function byteRanges([first = 0, ...low]: number[], [last = 0, ...high]: number[]): Range[][] {
  if (low.length === 0) return [[[first, last]]];
  const prepend = (from: number, to: number, rest: Range[][]) =>
    from > to ? [] : rest.map((path): Range[] => [[from, to], ...path]);
  if (first === last) return prepend(first, first, byteRanges(low, high));
  const lowest = low.map(() => 0x80);
  const highest = low.map(() => 0xbf);
  return [
    ...prepend(first, first, byteRanges(low, highest)),
    ...prepend(first + 1, last - 1, byteRanges(lowest, highest)),
    ...prepend(last, last, byteRanges(lowest, high)),
  ];
}

/** Any of these byte sequences. Branches byte by byte, because many alternatives at once are slow. */
function branchByByte(grammar: Expressions, paths: readonly Range[][]): Expression {
  const byFirst = new Map<string, { first: Range; rests: Range[][] }>();
  for (const [first, ...rest] of paths) {
    if (first === undefined) return grammar.empty;
    const shared = byFirst.get(first.join());
    if (shared) shared.rests.push(rest);
    else byFirst.set(first.join(), { first, rests: [rest] });
  }
  const byRest = new Map<Expression, Range[]>();
  for (const { first, rests } of byFirst.values()) {
    const rest = branchByByte(grammar, rests);
    byRest.set(rest, [...(byRest.get(rest) ?? []), first]);
  }
  const choices = [...byRest].map(([rest, firsts]) =>
    grammar.sequence(grammar.bytes(union(firsts)), rest),
  );
  return grammar.either(...choices);
}
