import type { Measured, Row } from "./row.ts";
import { show } from "./unit.ts";

/** A row's lines, or why there are none. */
export interface Outcome {
  row: Row;
  lines: Measured[];
  error?: string;
}

const HEAD = ["#", "Work", "Ours", "Baseline", "", "Ratio", "Goal", ""];

/** A Markdown table. Its last column says whether the goal is met. */
export function formatTable(outcomes: Outcome[]): string {
  const rows = [HEAD, ...outcomes.flatMap(cellsOf)];
  const widths = HEAD.map((_, column) =>
    Math.max(3, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const rule = line(widths.map((width) => "-".repeat(width)));
  const [head = "", ...body] = rows.map(line);
  return [head, rule, ...body].join("\n");
}

function cellsOf({ row, lines, error }: Outcome): string[][] {
  if (error !== undefined) {
    const why = error.replaceAll(/\s+/g, " ");
    return [[String(row.number), row.work, `failed: ${why}`, "", "", "", "", "✗ failed"]];
  }
  return lines.map((line) => [String(row.number), workOf(row, line), ...valueCells(row, line)]);
}

function workOf({ work }: Row, { part, oneRunOf }: Measured): string {
  const whole = part === undefined ? work : `${work}: ${part}`;
  return oneRunOf === undefined ? whole : `${whole} (one run of ${oneRunOf})`;
}

function valueCells(row: Row, { ours, baseline, against, unit, goal }: Measured): string[] {
  const comparison =
    baseline === undefined
      ? ["–", "", ""]
      : [show(baseline, unit), against ?? row.baseline ?? "", ratio(ours, baseline)];
  const isMet = goal?.isMet(ours, baseline ?? NaN);
  const mark = isMet === undefined ? "" : isMet ? "✓" : "✗ missed";
  return [show(ours, unit), ...comparison, goal?.text(unit) ?? "", mark];
}

/** Nothing where the baseline is 0. */
function ratio(ours: number, baseline: number): string {
  return baseline === 0 ? "" : show(ours / baseline);
}
