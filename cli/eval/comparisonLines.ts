import { formatCount, formatCounted, formatMetricValue } from "../../protocol/format.ts";
import { printable } from "../../protocol/printable.ts";
import type { ChangedRow, ComparedMetric, Comparison } from "../../sdk/metrics/compare.ts";
import type { WrongRow } from "../../sdk/metrics/wrongRows.ts";
import { tableLines } from "../terminal/table.ts";

/** Limits of shown rows, and of characters of a shown text. */
const [MAX_CHANGED, MAX_WRONG, MAX_CHARACTERS] = [10, 5, 100];
/** Characters shown before the first difference. */
const CONTEXT = 20;

/** A comparison as lines: a table, then changed rows, then wrong ones. */
export function comparisonLines({ figures, changed, wrong }: Comparison): string[] {
  const rows = figures.map(cells);
  const isPair = figures.some(({ difference }) => difference);
  const head = ["metric", "rows", ...(isPair ? ["before", "after", "difference"] : ["value"])];
  const shownKeys = new Set<string>();
  return [
    ...tableLines([head, ...rows]),
    ...changedLines(changed, shownKeys),
    ...wrongLines(wrong, shownKeys),
  ];
}

function cells({ name, rows, value, interval, by, before, difference }: ComparedMetric): string[] {
  const start = [excerpt(name), formatCount(rows)];
  if (!difference || before === undefined) {
    const [low, high] = interval.map(formatMetricValue);
    return [...start, `${formatMetricValue(value)}, 95 % CI [${low}, ${high}] (${by})`];
  }
  const [low, high] = difference.interval.map(signed);
  const chance = difference.mayBeChance ? "not significant" : "significant";
  const text = `${signed(difference.value)}, 95 % CI [${low}, ${high}] (paired bootstrap), ${chance}`;
  return [...start, formatMetricValue(before), formatMetricValue(value), text];
}

function changedLines(changed: readonly ChangedRow[], shownKeys: Set<string>): string[] {
  if (changed.length === 0) return [];
  const worse = changed.filter(({ change }) => change < 0).length;
  const entries = changed.map(({ input, expected, before, after, change }): Entry => {
    const from = excerptStart(expected, after === expected ? before : after);
    const lines = [
      `${change < 0 ? "worse" : "better"}    ${excerpt(input)}`,
      `  expected ${excerpt(expected, from)}`,
      `  before   ${excerpt(before, from)}`,
      `  after    ${excerpt(after, from)}`,
    ];
    return [keyOf({ input, expected, answer: after }), lines];
  });
  return [
    "",
    `${formatCounted(changed.length, "row")} changed: ${formatCount(worse)} worse, ${formatCount(changed.length - worse)} better`,
    ...entryLines(entries, MAX_CHANGED, shownKeys),
  ];
}

function wrongLines(wrong: readonly WrongRow[], shownKeys: Set<string>): string[] {
  if (wrong.length === 0) return [];
  const verb = wrong.length === 1 ? "is" : "are";
  const above = wrong.filter((row) => shownKeys.has(keyOf(row))).length;
  const some = above < wrong.length ? `${formatCount(above)} of them ` : "";
  const note = above > 0 ? `, ${some}shown above` : "";
  const entries = wrong.map((row): Entry => {
    const { input, expected, answer } = row;
    const from = excerptStart(expected, answer);
    const lines = [
      `wrong     ${excerpt(input)}`,
      `  expected ${excerpt(expected, from)}`,
      `  answer   ${excerpt(answer, from)}`,
    ];
    return [keyOf(row), lines];
  });
  return [
    "",
    `${formatCounted(wrong.length, "row")} ${verb} wrong${note}`,
    ...entryLines(entries, MAX_WRONG, shownKeys),
  ];
}

/** A row's lines, keyed by its texts. */
type Entry = [key: string, lines: string[]];

function keyOf({ input, expected, answer }: Omit<WrongRow, "row">): string {
  return JSON.stringify([input, expected, answer]);
}

/** The first few entries not shown yet, without duplicates. */
function entryLines(entries: readonly Entry[], max: number, shownKeys: Set<string>): string[] {
  const remaining = [...new Map(entries)].filter(([key]) => !shownKeys.has(key));
  const listed = remaining.slice(0, max);
  for (const [key] of listed) shownKeys.add(key);
  const more = remaining.length - listed.length;
  return [
    ...listed.flatMap(([, lines]) => lines),
    ...(more > 0 ? [`and ${formatCount(more)} more; --json prints all`] : []),
  ];
}

/** Start of the excerpt that shows the first difference of two long texts. */
function excerptStart(a: string, b: string): number {
  if (Math.max(a.length, b.length) <= MAX_CHARACTERS) return 0;
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return Math.max(0, at - CONTEXT);
}

function excerpt(text: string, from = 0): string {
  const start = from < text.length ? from : 0;
  const escaped = printable(text.slice(start, start + MAX_CHARACTERS));
  const isTruncated = text.length > start + MAX_CHARACTERS || escaped.length > MAX_CHARACTERS;
  return `${start > 0 ? "…" : ""}${escaped.slice(0, MAX_CHARACTERS)}${isTruncated ? "…" : ""}`;
}

function signed(value: number): string {
  return `${value > 0 ? "+" : ""}${formatMetricValue(value)}`;
}
