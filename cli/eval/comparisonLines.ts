import { formatCount, formatCounted } from "../../protocol/format.ts";
import { printable } from "../../protocol/printable.ts";
import type { ChangedRow, ComparedFigure, Comparison } from "../../sdk/metrics/compare.ts";
import { tableLines } from "../table.ts";

/** Rows that are shown, and characters of a text in them. */
const [MOST_ROWS, MOST_CHARACTERS] = [10, 100];

/** A comparison in words: a table, then the rows that changed. */
export function comparisonLines({ figures, changed }: Comparison): string[] {
  const rows = figures.map(cells);
  const isPair = figures.some(({ difference }) => difference);
  const head = ["metric", "rows", ...(isPair ? ["before", "after", "difference"] : ["figure"])];
  return [...tableLines([head, ...rows]), ...changedLines(changed)];
}

function cells({ name, rows, value, interval, by, before, difference }: ComparedFigure): string[] {
  const start = [name, formatCount(rows)];
  if (!difference || before === undefined) {
    const [least, most] = interval.map(figure);
    return [...start, `${figure(value)}, 95 % ${least} to ${most} (${by})`];
  }
  const [low, high] = difference.interval.map(signed);
  const chance = difference.mayBeChance ? "may be chance" : "more than chance";
  const inWords = `${signed(difference.value)}, 95 % ${low} to ${high} (paired bootstrap): ${chance}`;
  return [...start, figure(before), figure(value), inWords];
}

function changedLines(changed: readonly ChangedRow[]): string[] {
  if (changed.length === 0) return [];
  const worse = changed.filter(({ change }) => change < 0).length;
  const lines = [
    "",
    `${formatCounted(changed.length, "row")} changed: ${formatCount(worse)} worse, ${formatCount(changed.length - worse)} better`,
  ];
  for (const { input, expected, before, after, change } of changed.slice(0, MOST_ROWS)) {
    lines.push(
      `${change < 0 ? "worse" : "better"}    ${short(input)}`,
      `  expected ${short(expected)}`,
      `  before   ${short(before)}`,
      `  after    ${short(after)}`,
    );
  }
  const more = changed.length - MOST_ROWS;
  if (more > 0) lines.push(`and ${formatCount(more)} more; --json prints all`);
  return lines;
}

function short(text: string): string {
  const shown = printable(text.slice(0, MOST_CHARACTERS));
  const isCut = text.length > MOST_CHARACTERS || shown.length > MOST_CHARACTERS;
  return isCut ? `${shown.slice(0, MOST_CHARACTERS)}…` : shown;
}

/** Three digits. */
export function figure(value: number): string {
  return String(Number(value.toPrecision(3)));
}

function signed(value: number): string {
  return `${value > 0 ? "+" : ""}${figure(value)}`;
}
