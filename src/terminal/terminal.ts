import { createRendition } from "./rendition.ts";

/** A stretch of text in one style. */
export interface StyledText {
  text: string;
  /** CSS classes; empty for plain text. */
  style: string;
}

/** The cursor moves no further than this column unless the text does. */
const WIDTH = 120;
/** A longer line, in characters, is emitted in parts. */
const LONGEST_LINE = 16_000;
/** Anything longer isn't a sequence. */
const LONGEST_SEQUENCE = 256;

/** Control characters except tab and newline. */
const CONTROL = /[\0-\x08\x0b-\x1f\x7f]/g;
/** Captures parameters and letter. A string such as a title also ends at the end of the line. */
const SEQUENCE =
  /\x1b(?:\[([0-?]*)[ -/]*([@-~])|[\]PX^_][^\x07\x1b\n]*(?:\x07|(?=[\x1b\n]))|[ -/]*[0-OQ-WYZ\\`-~])/y;
/** A sequence cut off by the end of a chunk. */
const BEGUN_SEQUENCE = /\x1b(?:\[[0-?]*[ -/]*|([\]PX^_])[^\x07\x1b\n]*|[ -/]*)$/y;

/**
 * Renders text like a terminal that only scrolls: within the last line, sequences move the cursor,
 * erase and set styles, and text overwrites. It drops sequences that move the cursor to another line
 * or show nothing.
 * @param emit receives completed lines in order
 */
export function createTerminal(emit: (piece: StyledText) => void) {
  const rendition = createRendition();
  let style = "";
  /** The cursor's line. */
  let line: StyledText[] = [];
  /** The same line by character, once the cursor has moved in it. */
  let cells: StyledText[] | undefined;
  /** The cursor's column; undefined after the last character of a line without cells. */
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

  /** Obeys the control character at this index and returns the index after its sequence. */
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
    // A title is dropped, so only its start has to be kept.
    if (found) begun = found[1] ? `\x1b${found[1]}` : found[0];
    if (!found || begun.length > LONGEST_SEQUENCE) {
      begun = "";
      return at + 1;
    }
    return text.length;
  }

  /** `C` and `D` move right and left by `count` columns, `G` to that column, from 1. */
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

  function intoCells(): StyledText[] {
    cells ??= line.flatMap(({ text, style }) => Array.from(text, (text) => ({ text, style })));
    return cells;
  }

  /** Erases from the cursor on, up to the cursor (`1`) or the whole line (`2`). */
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

  /** The last line, still incomplete. */
  function unfinished(): StyledText[] {
    const pieces: StyledText[] = [];
    for (const piece of cells ?? line) join(pieces, piece);
    return pieces;
  }

  return { write, unfinished };
}

/** Appends a piece, merged into the last one if their styles match. */
function join(pieces: StyledText[], { text, style }: StyledText): void {
  const last = pieces.at(-1);
  if (last?.style === style) last.text += text;
  else pieces.push({ text, style });
}
