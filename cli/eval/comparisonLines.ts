import { formatCount, formatCounted } from "../../protocol/format.ts";
import { printable } from "../../protocol/printable.ts";
import type { ChangedRow, ComparedFigure, Comparison } from "../../sdk/metrics/compare.ts";
import type { WrongRow } from "../../sdk/metrics/wrongRows.ts";
import { tableLines } from "../table.ts";

/** Rows that are shown, changed and wrong ones, and characters of a text in them. */
const [MOST_CHANGED, MOST_WRONG, MOST_CHARACTERS] = [10, 5, 100];

/** A comparison in words: a table, then the rows that changed, then those that are wrong. */
export function comparisonLines({ figures, changed, wrong }: Comparison): string[] {
  const rows = figures.map(cells);
  const isPair = figures.some(({ difference }) => difference);
  const head = ["metric", "rows", ...(isPair ? ["before", "after", "difference"] : ["figure"])];
  return [...tableLines([head, ...rows]), ...changedLines(changed), ...wrongLines(wrong)];
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
  for (const { input, expected, before, after, change } of changed.slice(0, MOST_CHANGED)) {
    lines.push(
      `${change < 0 ? "worse" : "better"}    ${short(input)}`,
      `  expected ${short(expected)}`,
      `  before   ${short(before)}`,
      `  after    ${short(after)}`,
    );
  }
  return [...lines, ...moreLines(changed.length - MOST_CHANGED)];
}

function wrongLines(wrong: readonly WrongRow[]): string[] {
  if (wrong.length === 0) return [];
  const verb = wrong.length === 1 ? "is" : "are";
  const lines = ["", `${formatCounted(wrong.length, "row")} ${verb} wrong`];
  for (const { input, expected, answer } of wrong.slice(0, MOST_WRONG)) {
    lines.push(
      `wrong     ${short(input)}`,
      `  expected ${short(expected)}`,
      `  answer   ${short(answer)}`,
    );
  }
  return [...lines, ...moreLines(wrong.length - MOST_WRONG)];
}

function moreLines(count: number): string[] {
  return count > 0 ? [`and ${formatCount(count)} more; --json prints all`] : [];
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
