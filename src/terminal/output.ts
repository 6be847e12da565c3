import { type Piece, createTerminal } from "./terminal.ts";

/** A stretch of output that ends at a line's end, but for the last and very long lines. */
export interface OutputBlock {
  /** Stays the same while blocks before it are dropped. */
  id: number;
  pieces: readonly Piece[];
}

/** What a run has printed, in blocks so that showing more of it costs only the last block. */
export interface Output {
  blocks: readonly OutputBlock[];
  /** Characters dropped from the beginning. */
  dropped: number;
}

export const NO_OUTPUT: Output = { blocks: [], dropped: 0 };

/** What is shown of an output, in characters. A piece counts as some, for it costs as much. */
export const OUTPUT_LIMIT = 500_000;
const PIECE_COST = 100;
/** A block is full with so many lines, as `logBox.css` knows, or characters. */
const BLOCK_LINES = 100;
const BLOCK_SIZE = 16_000;

interface Stretch {
  block: OutputBlock;
  length: number;
  cost: number;
}

/** The last of what is written to a terminal. */
export function createOutput() {
  let full: Stretch[] = [];
  let open: Piece[] = [];
  let lines = 0;
  let length = 0;
  let nextId = 0;
  let total = 0;
  let dropped = 0;
  const terminal = createTerminal(add);

  function add({ text, style }: Piece): void {
    for (let start = 0; start < text.length;) {
      const end = endOfPart(text, start);
      const part = text.slice(start, end);
      const last = open.at(-1);
      if (last?.style === style) last.text += part;
      else open.push({ text: part, style });
      length += part.length;
      const cost = length + open.length * PIECE_COST;
      const isLine = part.endsWith("\n");
      if (isLine) lines++;
      if (length >= BLOCK_SIZE || (isLine && (lines >= BLOCK_LINES || cost >= BLOCK_SIZE))) {
        close({ block: { id: nextId++, pieces: open }, length, cost });
      }
      start = end;
    }
  }

  function close(stretch: Stretch): void {
    full.push(stretch);
    total += stretch.cost;
    open = [];
    lines = length = 0;
    let first = 0;
    for (; total > OUTPUT_LIMIT; first++) {
      total -= full[first]!.cost;
      dropped += full[first]!.length;
    }
    if (first) full = full.slice(first);
  }

  /** As it stands. What has not changed since the last time is the same object. */
  function view(): Output {
    const rest = [...open.map((piece) => ({ ...piece })), ...terminal.unfinished()];
    const blocks = full.map(({ block }) => block);
    return { blocks: rest.length ? [...blocks, { id: nextId, pieces: rest }] : blocks, dropped };
  }

  return { write: terminal.write, view };
}

/** The end of the line that begins here, or of as much of it as a block takes. */
function endOfPart(text: string, start: number): number {
  const newline = text.indexOf("\n", start) + 1;
  if (newline > 0 && newline - start <= BLOCK_SIZE) return newline;
  const end = start + BLOCK_SIZE;
  if (end >= text.length) return newline || text.length;
  return /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) ? end - 1 : end;
}
