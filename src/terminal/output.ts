import type { StyledText } from "./row.ts";
import { createTerminal } from "./terminal.ts";

/** Output up to the end of a line, except for the last block and very long lines. */
export interface OutputBlock {
  /** Stable while earlier blocks are dropped. */
  id: number;
  segments: readonly StyledText[];
}

/** A run's output in blocks, so that showing more of it only costs the last block. */
export interface Output {
  blocks: readonly OutputBlock[];
  /** Characters dropped from the beginning. */
  dropped: number;
}

export const NO_OUTPUT: Output = { blocks: [], dropped: 0 };

/** How much of an output is kept, in characters. */
export const OUTPUT_LIMIT = 500_000;
/** A segment's cost besides its characters. */
const SEGMENT_COST = 100;
/** A block is full at this many lines (`logBox.css` assumes the same) or characters. */
const BLOCK_LINES = 100;
const BLOCK_SIZE = 16_000;

interface FullBlock {
  block: OutputBlock;
  length: number;
  cost: number;
}

/** Keeps the last part of a terminal's output. */
export function createOutput() {
  let fullBlocks: FullBlock[] = [];
  let openSegments: StyledText[] = [];
  let lines = 0;
  let length = 0;
  let nextId = 0;
  let total = 0;
  let dropped = 0;
  const terminal = createTerminal(add);

  function add({ text, style }: StyledText): void {
    for (let start = 0; start < text.length;) {
      const end = endOfChunk(text, start);
      const chunk = text.slice(start, end);
      const last = openSegments.at(-1);
      if (last?.style === style) last.text += chunk;
      else openSegments.push({ text: chunk, style });
      length += chunk.length;
      const cost = length + openSegments.length * SEGMENT_COST;
      const isLine = chunk.endsWith("\n");
      if (isLine) lines++;
      if (length >= BLOCK_SIZE || (isLine && (lines >= BLOCK_LINES || cost >= BLOCK_SIZE))) {
        close({ block: { id: nextId++, segments: openSegments }, length, cost });
      }
      start = end;
    }
  }

  function close(block: FullBlock): void {
    fullBlocks.push(block);
    total += block.cost;
    openSegments = [];
    lines = length = 0;
    let first = 0;
    for (; total > OUTPUT_LIMIT; first++) {
      total -= fullBlocks[first]!.cost;
      dropped += fullBlocks[first]!.length;
    }
    if (first) fullBlocks = fullBlocks.slice(first);
  }

  /** The output so far. Unchanged blocks keep their identity. */
  function view(): Output {
    const rest = [...openSegments.map((segment) => ({ ...segment })), ...terminal.unfinished()];
    const blocks = fullBlocks.map(({ block }) => block);
    return { blocks: rest.length ? [...blocks, { id: nextId, segments: rest }] : blocks, dropped };
  }

  return { write: terminal.write, view };
}

/** The end of the line that starts here, or of as much of it as fits a block. */
function endOfChunk(text: string, start: number): number {
  const newline = text.indexOf("\n", start) + 1;
  if (newline > 0 && newline - start <= BLOCK_SIZE) return newline;
  const end = start + BLOCK_SIZE;
  if (end >= text.length) return newline || text.length;
  return /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) ? end - 1 : end;
}
