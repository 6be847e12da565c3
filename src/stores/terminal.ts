import { classesOf, restyle, type TextStyle } from "./textStyle.ts";

/** A stretch of text in one style. */
export interface Piece {
  text: string;
  /** Classes; empty for plain text. */
  style: string;
}

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
 * Shows text as a terminal does that scrolls only: what comes after a carriage return or a
 * backspace overwrites, the end of a line can be erased, colours and styles apply. All else that
 * moves the cursor or is not for the eye is dropped.
 * @param emit takes the lines as they are completed, in order
 */
export function createTerminal(emit: (piece: Piece) => void) {
  let textStyle: TextStyle = {};
  let style = "";
  /** The line the cursor is in: its characters, and the style of each. */
  let line: string[] = [];
  let styles: string[] = [];
  let column = 0;
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
    else if (control === "\b") column = Math.max(0, column - 1);
    else if (control === "\x1b") return obeySequence(text, at);
    return at + 1;
  }

  function obeySequence(text: string, at: number): number {
    SEQUENCE.lastIndex = at;
    const sequence = SEQUENCE.exec(text);
    if (sequence) {
      const [, parameters = "", letter] = sequence;
      if (letter === "m" && /^[\d;:]*$/.test(parameters)) {
        textStyle = restyle(textStyle, parameters);
        style = classesOf(textStyle);
      } else if (letter === "K") erase(parameters);
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

  function print(text: string): void {
    for (let start = 0; start < text.length;) {
      if (line.length === 0 && column === 0) {
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
    while (line.length < column) styles[line.push(" ") - 1] = "";
    for (const character of text) {
      line[column] = character;
      styles[column] = style;
      column++;
      if (column >= LONGEST_LINE) endLine("");
    }
  }

  /** From the cursor on, up to the cursor, or all of the line. */
  function erase(parameters: string): void {
    if (parameters === "1") line.fill(" ", 0, column);
    else line.length = styles.length = parameters === "2" ? 0 : Math.min(column, line.length);
  }

  function endLine(end: string): void {
    const pieces = unfinished();
    const last = pieces.pop();
    pieces.forEach(emit);
    emit({ text: (last?.text ?? "") + end, style: last?.style ?? style });
    line = [];
    styles = [];
    column = 0;
  }

  /** The line that has not been completed. */
  function unfinished(): Piece[] {
    const pieces: Piece[] = [];
    for (let from = 0, to = 0; from < line.length; from = to) {
      while (to < line.length && styles[to] === styles[from]) to++;
      pieces.push({ text: line.slice(from, to).join(""), style: styles[from]! });
    }
    return pieces;
  }

  return { write, unfinished };
}
