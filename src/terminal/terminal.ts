import { classesOf, restyled } from "./rendition.ts";
import { type StyledText, createRow } from "./row.ts";

/** The cursor moves no further than this column unless the text does. */
const WIDTH = 120;
/** The cursor moves within this many last lines. */
const HEIGHT = 50;
/** A longer line, in characters, is emitted in parts. */
const MAX_LINE_LENGTH = 16_000;
/** Anything longer isn't a sequence. */
const MAX_SEQUENCE_LENGTH = 256;

/** Control characters except tab and newline. */
const CONTROL = /[\0-\x08\x0b-\x1f\x7f]/g;
/** Captures parameters and letter. A string such as a title also ends at the end of the line. */
const SEQUENCE =
  /\x1b(?:\[([0-?]*)[ -/]*([@-~])|[\]PX^_][^\x07\x1b\n]*(?:\x07|(?=[\x1b\n]))|[ -/]*[0-OQ-WYZ\\`-~])/y;
/** A sequence cut off by the end of a chunk. */
const PARTIAL_SEQUENCE = /\x1b(?:\[[0-?]*[ -/]*|([\]PX^_])[^\x07\x1b\n]*|[ -/]*)$/y;

/**
 * Renders text like a terminal: within the last lines, sequences move the cursor, erase and set styles,
 * and text overwrites. It drops sequences that move the cursor to a line by its number or show nothing.
 * @param emit receives the lines that the cursor can't reach any more, in order
 */
export function createTerminal(emit: (segment: StyledText) => void) {
  let rendition = {};
  let style = "";
  let rows = [createRow()];
  /** The cursor's row. */
  let at = 0;
  /** The cursor's column; undefined after the row's last character. */
  let column: number | undefined;
  let partial = "";

  const row = () => rows[at]!;

  function write(chunk: string): void {
    const text = partial + chunk;
    partial = "";
    for (let from = 0; from < text.length;) {
      CONTROL.lastIndex = from;
      const next = CONTROL.exec(text)?.index ?? text.length;
      if (next > from) print(text.slice(from, next));
      from = next < text.length ? handleControl(text, next) : next;
    }
  }

  /** Handles the control character at this index. @returns the index after its sequence */
  function handleControl(text: string, index: number): number {
    const control = text[index];
    if (control === "\r") column = 0;
    else if (control === "\b") move("D", 1);
    else if (control === "\x1b") return handleSequence(text, index);
    return index + 1;
  }

  function handleSequence(text: string, index: number): number {
    SEQUENCE.lastIndex = index;
    const sequence = SEQUENCE.exec(text);
    if (sequence) {
      const [, parameters = "", letter] = sequence;
      if (letter === "m" && /^[\d;:]*$/.test(parameters)) {
        rendition = restyled(rendition, parameters);
        style = classesOf(rendition);
      } else if (letter === "K" || (letter === "J" && !Number(parameters))) {
        row().erase(parameters, (column ??= row().width()));
        if (letter === "J") rows.length = at + 1;
      } else if (/^[A-DG]$/.test(letter ?? "")) move(letter!, Number(parameters) || 1);
      return SEQUENCE.lastIndex;
    }
    PARTIAL_SEQUENCE.lastIndex = index;
    const partialMatch = PARTIAL_SEQUENCE.exec(text);
    // A title is dropped, so only its start has to be kept.
    if (partialMatch) partial = partialMatch[1] ? `\x1b${partialMatch[1]}` : partialMatch[0];
    if (!partialMatch || partial.length > MAX_SEQUENCE_LENGTH) {
      partial = "";
      return index + 1;
    }
    return text.length;
  }

  /**
   * `A` and `B` move up and down by `count` rows, `C` and `D` right and left by columns, `G` to that column, from 1.
   */
  function move(letter: string, count: number): void {
    const width = row().width();
    const from = column ?? width;
    const to = { C: from + count, D: from - count, G: count - 1 }[letter] ?? from;
    column = Math.max(0, Math.min(to, Math.max(width, WIDTH - 1)));
    const down = { A: -count, B: count }[letter] ?? 0;
    at = Math.max(0, Math.min(at + down, HEIGHT - 1));
    while (rows.length <= at) rows.push(createRow());
  }

  function print(text: string): void {
    for (let start = 0; start < text.length;) {
      const isAtEnd = at === rows.length - 1 && row().isEmpty();
      const lastLines = isAtEnd ? startOfLastLines(text, start) : start;
      if (lastLines > start) {
        release(at);
        emit({ text: text.slice(start, lastLines), style });
        start = lastLines;
      }
      const newline = text.indexOf("\n", start);
      put(text.slice(start, newline < 0 ? undefined : newline));
      if (newline < 0) return;
      feedLine();
      start = newline + 1;
    }
  }

  function put(text: string): void {
    if (!text) return;
    if (column === 0 && row().isEmpty()) column = undefined;
    if (column === undefined) row().append(text, style);
    else column = row().write(text, style, column);
    if (row().size() <= MAX_LINE_LENGTH) return;
    release(at);
    rows[0]!.segments("").forEach(emit);
    rows[0] = createRow();
    column = undefined;
  }

  function feedLine(): void {
    at++;
    column = 0;
    if (at === rows.length) rows.push(createRow());
    release(rows.length - HEIGHT);
  }

  /** Emits the first `count` rows. */
  function release(count: number): void {
    if (count <= 0) return;
    for (const row of rows.slice(0, count)) row.segments("\n").forEach(emit);
    rows = rows.slice(count);
    at -= count;
  }

  /** The last rows, which can change. */
  function unfinished(): StyledText[] {
    return rows.flatMap((row, n) => row.segments(n < rows.length - 1 ? "\n" : ""));
  }

  return { write, unfinished };
}

/** The offset at which the lines begin that the cursor can still reach; `from` if it reaches all. */
function startOfLastLines(text: string, from: number): number {
  let start = text.length;
  for (let lines = 0; lines < HEIGHT && start > from; lines++) {
    start = text.lastIndexOf("\n", start - 1);
  }
  return Math.max(from, start + 1);
}
