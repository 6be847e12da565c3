import type { StyledText } from "./row.ts";
import { createTerminal } from "./terminal.ts";

/** A stretch of output that ends with a line, except for the last block and very long lines. */
export interface OutputBlock {
  /** Stable while earlier blocks are dropped. */
  id: number;
  pieces: readonly StyledText[];
}

/** A run's output in blocks, so that showing more of it only costs the last block. */
export interface Output {
  blocks: readonly OutputBlock[];
  /** Characters dropped from the beginning. */
  dropped: number;
}

export const NO_OUTPUT: Output = { blocks: [], dropped: 0 };

/** How much of an output is kept, in characters. Each piece costs this many more. */
export const OUTPUT_LIMIT = 500_000;
const PIECE_COST = 100;
/** A block is full at this many lines (`logBox.css` assumes the same) or characters. */
const BLOCK_LINES = 100;
const BLOCK_SIZE = 16_000;

interface Stretch {
  block: OutputBlock;
  length: number;
  cost: number;
}

/** Keeps the last part of a terminal's output. */
export function createOutput() {
  let full: Stretch[] = [];
  let open: StyledText[] = [];
  let lines = 0;
  let length = 0;
  let nextId = 0;
  let total = 0;
  let dropped = 0;
  const terminal = createTerminal(add);

  function add({ text, style }: StyledText): void {
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

  /** The output so far. Unchanged blocks keep their identity. */
  function view(): Output {
    const rest = [...open.map((piece) => ({ ...piece })), ...terminal.unfinished()];
    const blocks = full.map(({ block }) => block);
    return { blocks: rest.length ? [...blocks, { id: nextId, pieces: rest }] : blocks, dropped };
  }

  return { write: terminal.write, view };
}

/** The end of the line that starts here, or of the part of it that fits a block. */
function endOfPart(text: string, start: number): number {
  const newline = text.indexOf("\n", start) + 1;
  if (newline > 0 && newline - start <= BLOCK_SIZE) return newline;
  const end = start + BLOCK_SIZE;
  if (end >= text.length) return newline || text.length;
  return /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) ? end - 1 : end;
}
