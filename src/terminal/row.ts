/** Text in one style. */
export interface StyledText {
  text: string;
  /** CSS classes; empty for plain text. */
  style: string;
}

/** One line of a terminal. */
export function createRow() {
  const line: StyledText[] = [];
  /** The line by character, once the cursor has moved in it. */
  let cells: StyledText[] | undefined;
  /** Length of `line`, in characters. */
  let size = 0;

  function intoCells(): StyledText[] {
    cells ??= line.flatMap(({ text, style }) => Array.from(text, (text) => ({ text, style })));
    return cells;
  }

  return {
    isEmpty: () => line.length === 0 && !cells,
    size: () => cells?.length ?? size,
    /** Columns that have a character. */
    width: () => intoCells().length,

    append(text: string, style: string): void {
      if (cells) for (const character of text) cells.push({ text: character, style });
      else join(line, { text, style });
      size += text.length;
    },

    /** Overwrites from a column on. @returns the column after the text */
    write(text: string, style: string, column: number): number {
      const row = intoCells();
      while (row.length < column) row.push({ text: " ", style: "" });
      for (const character of text) row[column++] = { text: character, style };
      return column;
    },

    /** Erases from the column on, up to it (`1`) or all (`2`). */
    erase(parameters: string, column: number): void {
      const row = intoCells();
      if (parameters === "1") row.fill({ text: " ", style: "" }, 0, column + 1);
      else row.length = parameters === "2" ? 0 : Math.min(column, row.length);
    },

    /** @param end appended to the text */
    segments(end: string): StyledText[] {
      const segments: StyledText[] = [];
      for (const segment of cells ?? line) join(segments, segment);
      const last = segments.at(-1);
      if (last) last.text += end;
      else if (end) segments.push({ text: end, style: "" });
      return segments;
    },
  };
}

/** Appends a segment, merged into the last one if their styles match. */
function join(segments: StyledText[], { text, style }: StyledText): void {
  const last = segments.at(-1);
  if (last?.style === style) last.text += text;
  else segments.push({ text, style });
}
