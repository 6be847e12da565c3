/** Rows of cells as lines whose columns are aligned. Pure. */
export function tableLines(rows: readonly (readonly string[])[]): string[] {
  const [first = []] = rows;
  const widths = first.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
