import type { Expression, Expressions } from "./expressions.ts";

/** Characters, by their code points from the first to the last. */
export type Range = readonly [first: number, last: number];

const LAST = 0x10ffff;
/** UTF-16 surrogates, which are not characters. */
const SURROGATES: Range = [0xd800, 0xdfff];
export const ANY: readonly Range[] = without([[0, LAST]], [SURROGATES]);

/** In order, joined where they touch. */
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
  const left: Range[] = [];
  const taken = union(others);
  let next = 0;
  for (const [first, last] of union(ranges)) {
    let from = first;
    while (next < taken.length && taken[next]![1] < from) next++;
    for (let i = next; i < taken.length && taken[i]![0] <= last; i++) {
      if (from < taken[i]![0]) left.push([from, taken[i]![0] - 1]);
      from = taken[i]![1] + 1;
    }
    if (from <= last) left.push([from, last]);
  }
  return left;
}

/** One of these characters in a JSON string: raw, or escaped where JSON requires it. */
export function characterOf(of: Expressions, ranges: readonly Range[]): Expression {
  const wanted = union(ranges);
  const plain = without(wanted, [[0, 0x1f], [0x22, 0x22], [0x5c, 0x5c], SURROGATES]);
  const has = (code: number) => wanted.some(([first, last]) => first <= code && code <= last);
  const special = [...Array.from({ length: 0x20 }, (_, code) => code), 0x22, 0x5c].filter(has);
  const escaped = special.map((code) => JSON.stringify(String.fromCharCode(code)).slice(1, -1));
  return of.either(utf8(of, plain), textsOf(of, escaped));
}

/** One of these characters as it is. */
export function bareCharacterOf(of: Expressions, ranges: readonly Range[]): Expression {
  return utf8(of, without(ranges, [SURROGATES]));
}

/** Any of these texts. */
export function textsOf(of: Expressions, texts: readonly string[]): Expression {
  const sorted = [...new Set(texts)]
    .map((text) => Buffer.from(text))
    .sort((a, b) => Buffer.compare(a, b));
  return branches(of, sorted, 0, sorted.length, 0);
}

/** Texts `from` to `to` in sorted order, which share a prefix. Branches one byte at a time. */
function branches(
  of: Expressions,
  sorted: readonly Buffer[],
  from: number,
  to: number,
  at: number,
): Expression {
  const [first, last] = [sorted[from], sorted[to - 1]];
  if (!first || !last) return of.none;
  let same = at;
  while (same < first.length && first[same] === last[same]) same++;
  const head = of.text(first.subarray(at, same));
  const choices: Expression[] = [];
  let start = from;
  if (first.length === same) {
    choices.push(of.empty);
    start++;
  }
  for (let end = start; start < to; start = end) {
    while (end < to && sorted[end]![same] === sorted[start]![same]) end++;
    choices.push(branches(of, sorted, start, end, same));
  }
  return of.sequence(head, of.either(...choices));
}

/** The last character of each UTF-8 length. */
const LENGTHS: readonly (readonly [last: number, bytes: number])[] = [
  [0x7f, 1],
  [0x7ff, 2],
  [0xffff, 3],
  [LAST, 4],
];

/** One of these characters, in UTF-8. */
function utf8(of: Expressions, ranges: readonly Range[]): Expression {
  const parts: Expression[] = [];
  for (const [first, last] of ranges) {
    let from = first;
    for (const [longest] of LENGTHS) {
      if (from > longest || from > last) continue;
      const to = Math.min(last, longest);
      parts.push(sameLength(of, bytesOf(from), bytesOf(to)));
      from = to + 1;
    }
  }
  return of.either(...parts);
}

function bytesOf(code: number): number[] {
  return [...Buffer.from(String.fromCodePoint(code))];
}

/** Byte sequences between two of equal length; all bytes but the first range from 0x80 to 0xbf. */
function sameLength(of: Expressions, low: readonly number[], high: readonly number[]): Expression {
  const [first, ...lowRest] = low;
  const [last, ...highRest] = high;
  if (first === undefined || last === undefined) return of.empty;
  const least = lowRest.map(() => 0x80);
  const most = lowRest.map(() => 0xbf);
  const head = (from: number, to: number, rest: Expression) =>
    from > to ? of.none : of.sequence(of.bytes([[from, to]]), rest);
  if (first === last) return head(first, first, sameLength(of, lowRest, highRest));
  return of.either(
    head(first, first, sameLength(of, lowRest, most)),
    head(first + 1, last - 1, sameLength(of, least, most)),
    head(last, last, sameLength(of, least, highRest)),
  );
}
