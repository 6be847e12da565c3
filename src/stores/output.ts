/** A stretch of output that ends at a line's end, but for the last. */
export interface OutputBlock {
  /** Stays the same while blocks before it are dropped. */
  id: number;
  text: string;
}

/** What a run has printed, in blocks so that showing more of it costs only the last block. */
export interface Output {
  blocks: readonly OutputBlock[];
  /** Characters dropped from the beginning. */
  dropped: number;
}

export const NO_OUTPUT: Output = { blocks: [], dropped: 0 };

/** In characters, as all sizes here. */
export const OUTPUT_LIMIT = 4_000_000;
const BLOCK_SIZE = 16_000;
/** A line longer than this is broken, for want of a better place. */
const LONGEST_LINE = 1_000_000;

/** `output` with `text` after it; the oldest blocks go when it grows beyond `OUTPUT_LIMIT`. Pure. */
export function append(output: Output, text: string): Output {
  if (!text) return output;
  const blocks = [...output.blocks];
  const last = blocks.pop();
  let id = last?.id ?? 0;
  let rest = (last?.text ?? "") + text;
  while (rest.length > BLOCK_SIZE) {
    const end = blockEnd(rest);
    if (end === undefined) break;
    blocks.push({ id: id++, text: rest.slice(0, end) });
    rest = rest.slice(end);
  }
  if (rest) blocks.push({ id, text: rest });
  return trim(blocks, output.dropped);
}

function blockEnd(text: string): number | undefined {
  const inside = text.lastIndexOf("\n", BLOCK_SIZE - 1);
  const newline = inside >= 0 ? inside : text.indexOf("\n", BLOCK_SIZE);
  if (newline >= 0 && newline < LONGEST_LINE) return newline + 1;
  if (text.length <= LONGEST_LINE) return undefined;
  const splitsPair = /[\uD800-\uDBFF]/.test(text.charAt(LONGEST_LINE - 1));
  return splitsPair ? LONGEST_LINE - 1 : LONGEST_LINE;
}

function trim(blocks: OutputBlock[], dropped: number): Output {
  let size = blocks.reduce((sum, { text }) => sum + text.length, 0);
  let first = 0;
  while (size > OUTPUT_LIMIT) {
    const length = blocks[first++]?.text.length ?? 0;
    size -= length;
    dropped += length;
  }
  return { blocks: first ? blocks.slice(first) : blocks, dropped };
}
