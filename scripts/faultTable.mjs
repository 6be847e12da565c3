import { existsSync, readFileSync } from "node:fs";

/** Formats the fault tests' reported rows as a Markdown table. */
export function faultTable(path) {
  if (!existsSync(path)) return "";
  const rows = readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))
    .map(({ fault, times, lost, doubled, wrongStatus }) => [
      fault,
      ...[times, lost, doubled, wrongStatus].map(String),
    ]);
  return formatTable([["Fault", "Times", "Lost", "Doubled", "Wrong status"], ...rows]);
}

function formatTable(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column])).join(" | ")} |`;
  const rule = line(widths.map((width) => "-".repeat(width)));
  const [head, ...body] = rows.map(line);
  return [head, rule, ...body].join("\n");
}
