import { createRendition } from "./rendition.ts";

/** A stretch of text in one style. */
export interface Piece {
  text: string;
  /** Classes; empty for plain text. */
  style: string;
}

/** The cursor stops here, in columns, unless text goes on. */
const WIDTH = 120;
/** A line is given out in parts of this length, in characters, as if it began anew. */
const LONGEST_LINE = 16_000;
/** A sequence that is longer is none. */
const LONGEST_SEQUENCE = 256;

/** All but tab and newline. */
const CONTROL = /[\0-\x08\x0b-\x1f\x7f]/g;
/** With what it asks for: parameters and a letter. A title or the like ends at a line's end too. */
const SEQUENCE =
  /\x1b(?:\[([0-?]*)[ -/]*([@-~])|[\]PX^_][^\x07\x1b\n]*(?:\x07|(?=[\x1b\n]))|[ -/]*[0-OQ-WYZ\\`-~])/y;
/** At the end of what has come so far. */
const BEGUN_SEQUENCE = /\x1b(?:\[[0-?]*[ -/]*|([\]PX^_])[^\x07\x1b\n]*|[ -/]*)$/y;

/**
 * Shows text as a terminal does that scrolls only: within the last line the cursor moves, what
 * comes overwrites and erases, colours and styles apply. What would move it to another line or is
 * not for the eye is dropped.
 * @param emit takes the lines as they are completed, in order
 */
export function createTerminal(emit: (piece: Piece) => void) {
  const rendition = createRendition();
  let style = "";
  /** The line the cursor is in. */
  let line: Piece[] = [];
  /** The same by character, once the cursor has gone back in it. */
  let cells: Piece[] | undefined;
  /** Where the cursor is; undefined behind the last character of a line without cells. */
  let column: number | undefined;
  let length = 0;
  let begun = "";

  function write(chunk: string): void {
    const text = begun + chunk;
    begun = "";
    let at = 0;
    while (at < text.length) {
      CONTROL.lastIndex = at;
      const next = CONTROL.exec(text)?.index ?? text.length;
      if (next > at) print(text.slice(at, next));
      at = next < text.length ? obey(text, next) : next;
    }
  }

  /** Obeys the control character at this index, and returns the index behind what belongs to it. */
  function obey(text: string, at: number): number {
    const control = text[at];
    if (control === "\r") column = 0;
    else if (control === "\b") move("D", 1);
    else if (control === "\x1b") return obeySequence(text, at);
    return at + 1;
  }

  function obeySequence(text: string, at: number): number {
    SEQUENCE.lastIndex = at;
    const sequence = SEQUENCE.exec(text);
    if (sequence) {
      const [, parameters = "", letter] = sequence;
      if (letter === "m" && /^[\d;:]*$/.test(parameters)) {
        rendition.change(parameters);
        style = rendition.classes();
      } else if (letter === "K" || (letter === "J" && !Number(parameters))) erase(parameters);
      else if (letter === "C" || letter === "D" || letter === "G") {
        move(letter, Number(parameters) || 1);
      }
      return SEQUENCE.lastIndex;
    }
    BEGUN_SEQUENCE.lastIndex = at;
    const found = BEGUN_SEQUENCE.exec(text);
    // What a title says does not matter, however long it is.
    if (found) begun = found[1] ? `\x1b${found[1]}` : found[0];
    if (!found || begun.length > LONGEST_SEQUENCE) {
      begun = "";
      return at + 1;
    }
    return text.length;
  }

  /** By so many columns, or to one counted from 1. */
  function move(letter: "C" | "D" | "G", count: number): void {
    const { length } = intoCells();
    const from = column ?? length;
    const to = { C: from + count, D: from - count, G: count - 1 }[letter];
    column = Math.max(0, Math.min(to, Math.max(length, WIDTH - 1)));
  }

  function print(text: string): void {
    for (let start = 0; start < text.length;) {
      if (!line.length && !cells) {
        const end = text.lastIndexOf("\n") + 1;
        if (end > start) emit({ text: text.slice(start, end), style });
        start = Math.max(start, end);
      }
      const newline = text.indexOf("\n", start);
      put(text.slice(start, newline < 0 ? undefined : newline));
      if (newline < 0) return;
      endLine("\n");
      start = newline + 1;
    }
  }

  function put(text: string): void {
    if (!text) return;
    if (column === undefined || (!line.length && !cells)) {
      column = undefined;
      join(line, { text, style });
      length += text.length;
    } else {
      const row = intoCells();
      while (row.length < column) row.push({ text: " ", style: "" });
      for (const character of text) row[column++] = { text: character, style };
    }
    if (length > LONGEST_LINE || (cells?.length ?? 0) > LONGEST_LINE) endLine("");
  }

  function intoCells(): Piece[] {
    cells ??= line.flatMap(({ text, style }) => Array.from(text, (text) => ({ text, style })));
    return cells;
  }

  /** From the cursor on, up to the cursor, or all of the line. */
  function erase(parameters: string): void {
    const row = intoCells();
    column ??= row.length;
    if (parameters === "1") row.fill({ text: " ", style: "" }, 0, column + 1);
    else row.length = parameters === "2" ? 0 : Math.min(column, row.length);
  }

  function endLine(end: string): void {
    const pieces = unfinished();
    if (pieces.length) pieces.at(-1)!.text += end;
    else pieces.push({ text: end, style });
    pieces.forEach(emit);
    line = [];
    length = 0;
    cells = column = undefined;
  }

  /** The line that has not been completed. */
  function unfinished(): Piece[] {
    const pieces: Piece[] = [];
    for (const piece of cells ?? line) join(pieces, piece);
    return pieces;
  }

  return { write, unfinished };
}

/** Adds a piece behind others, to the last of them if it is of the same style. */
function join(pieces: Piece[], { text, style }: Piece): void {
  const last = pieces.at(-1);
  if (last?.style === style) last.text += text;
  else pieces.push({ text, style });
}
