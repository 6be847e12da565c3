import type { Measured, Row, Unit } from "./row.ts";

/** What became of a row: its lines, or why there are none. */
export interface Outcome {
  row: Row;
  lines: Measured[];
  error?: string;
}

const HEAD = ["#", "Work", "Ours", "Baseline", "", "Ratio", "Goal", ""];

/** A Markdown table. A goal that is missed has a cross. */
export function formatTable(outcomes: Outcome[]): string {
  const rows = [HEAD, ...outcomes.flatMap(cellsOf)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const rule = line(widths.map((width) => "-".repeat(Math.max(width, 1))));
  const [head = "", ...body] = rows.map(line);
  return [head, rule, ...body].join("\n");
}

function cellsOf({ row, lines, error }: Outcome): string[][] {
  const number = String(row.number);
  if (error !== undefined) {
    return [[number, row.work, `failed: ${error.replaceAll(/\s+/g, " ")}`, "", "", "", "", "✗"]];
  }
  return lines.map(({ part, ours, baseline, unit, goal }) => [
    number,
    part === undefined ? row.work : `${row.work}: ${part}`,
    show(ours, unit),
    baseline === undefined ? "–" : show(baseline, unit),
    row.baseline,
    baseline === undefined ? "" : showNumber(ours / baseline),
    goal?.text ?? "",
    goal === undefined ? "" : goal.isMet(ours, baseline ?? NaN) ? "✓" : "✗",
  ]);
}

function show(value: number, unit: Unit): string {
  return `${showNumber(value)} ${unit}`.trim();
}

/** Three digits that count. */
function showNumber(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  return value >= 100 ? Math.round(value).toLocaleString("en") : String(+value.toPrecision(3));
}
