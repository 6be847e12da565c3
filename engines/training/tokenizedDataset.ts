import { isDeepStrictEqual } from "node:util";
import type { DatasetPath } from "../../protocol/dataset.ts";
import { KitError, isKitError } from "../../protocol/error.ts";
import { freeMemory } from "../dataset/freeMemory.ts";
import { createReadingNotes } from "../dataset/readingNotes.ts";
import { isTooDeep, nestedTooDeeply } from "../dataset/row.ts";
import { nameOf, readRows } from "../dataset/rows.ts";
import { type Examples, createExamples } from "../examples/examples.ts";
import type { Objective } from "../objectives/objective.ts";
import { sft } from "../objectives/sft.ts";
import { BYTE_TOKENIZER } from "../tokens/byteTokenizer.ts";
import type { PromptStyle, Span, Tokenizer } from "../tokens/tokenizer.ts";
import type { InspectedRow } from "./inspection.ts";
import { watchRows } from "./rowNotes.ts";

export interface TokenizedDataset {
  /** A count of lines with something to learn. */
  rows: number;
  /** Number of these lines that lost their end to `maxLength`. */
  cut: number;
  /**
   * Lines that are not trained on, because no answer begins within `maxLength`, or a pair's
   * answers are identical up to there; a count.
   */
  leftOut: number;
  /** Tokens of the longest line that is left out; 0 without one. */
  needed: number;
  /** Tokens of the longest line, before it is cut. */
  longestRow: number;
  /** The names that rows have: `{prompt, completion}`, or of several kinds `{messages} | {text}`. */
  format: string;
  /** One for each row, or more where a long text was cut. */
  examples: Examples;
  /** As in most rows. */
  promptStyle: PromptStyle;
}

export interface ReadOptions {
  /** Default: of right answers. */
  objective?: Objective;
  /** Default: Kit's own. */
  tokenizer?: Tokenizer;
  /** Takes lines for people on how far the reading has come. */
  onNote?: (text: string) => void;
  /** Takes each row as it is read. */
  onRow?: ((row: InspectedRow) => void) | undefined;
  /** Bytes of memory that are left. For tests. */
  free?: () => number;
}

/** Roughly what the rest of a training needs. */
const RESERVE_BYTES = 128 * 2 ** 20;

/**
 * Reads rows that Kit has written. A conversation that is longer than `maxLength` tokens loses its end, and is
 * left out if no answer remains; a text is cut into pieces.
 * @throws KitError `DATASET_UNREADABLE` without a file, `DATASET_INVALID` with the file and line that the
 * tokenizer refuses, `OUT_OF_MEMORY`
 */
export function readDataset(
  path: DatasetPath,
  maxLength: number,
  {
    objective = sft,
    tokenizer = BYTE_TOKENIZER,
    onNote = () => {},
    onRow,
    free = freeMemory,
  }: ReadOptions = {},
): TokenizedDataset {
  const counts = { read: 0, texts: 0, cut: 0, leftOut: 0, needed: 0, longest: 0 };
  const examples = createExamples(tokenizer.vocabulary, () => {
    if (free() < RESERVE_BYTES) throw tooLarge(path, counts.read);
  });
  const formats = new Set<string>();
  const watch = watchRows(tokenizer);
  const note = createReadingNotes(onNote);
  const onRead = (bytes: number, size: number) => note(counts.read, bytes, size);
  for (const { row, where } of readRows<object>(path, onRead)) {
    const sequences = at(where, () => objective.sequencesOf(row, tokenizer));
    const isText = objective.form.isText(row);
    const fitting = sequences.filter((spans) => firstLearned(spans) < maxLength);
    const isLeftOut =
      !isText &&
      (objective.needsAll
        ? fitting.length < sequences.length || areAlike(fitting, maxLength)
        : fitting.length === 0);
    const isBad = objective.isBad?.(row) === true;
    onRow?.({ row, where, sequences, isBad, isLeftOut });
    const length = Math.max(...sequences.map(lengthOf));
    // Truncated rows are reported elsewhere.
    const whole = isText ? [] : sequences.filter((spans) => lengthOf(spans) <= maxLength);
    watch.see(row, whole, where);
    counts.read++;
    counts.longest = Math.max(counts.longest, length);
    formats.add(`{${Object.keys(row).join(", ")}}`);
    if (isText) {
      counts.texts++;
      for (const spans of sequences) examples.addPieces(spans, maxLength);
    } else if (isLeftOut) {
      counts.leftOut++;
      counts.needed = Math.max(counts.needed, length);
    } else {
      if (length > maxLength) counts.cut++;
      examples.addStart(fitting, maxLength, isBad);
    }
  }
  for (const note of watch.notes()) onNote(note);
  if (examples.length === 0) {
    throw new KitError(
      "DATASET_INVALID",
      `No row of ${nameOf(path)} has an answer within ${maxLength} tokens. Shorten the prompts or raise maxLength.`,
    );
  }
  return {
    rows: counts.read - counts.leftOut,
    cut: counts.cut,
    leftOut: counts.leftOut,
    needed: counts.needed,
    longestRow: counts.longest,
    format: [...formats].sort().join(" | "),
    examples,
    promptStyle: counts.texts * 2 > counts.read ? "text" : "message",
  };
}

/** Says where a row is that the tokenizer refuses. */
function at<T>(where: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (isTooDeep(error)) throw nestedTooDeeply(where, error);
    if (!isKitError(error) || error.code !== "DATASET_INVALID") throw error;
    throw new KitError(error.code, `${where}: ${error.message}`, { cause: error });
  }
}

/** The tokens before it; infinitely many without any. */
function firstLearned(spans: readonly Span[]): number {
  const first = spans.findIndex(({ isLearned }) => isLearned);
  return first === -1 ? Infinity : lengthOf(spans.slice(0, first));
}

/** Whether the sequences are identical up to the limit. */
function areAlike(sequences: readonly (readonly Span[])[], most: number): boolean {
  const [first = [], ...others] = sequences.map((spans) =>
    spans.flatMap(({ tokens }) => [...tokens]).slice(0, most),
  );
  return others.every((other) => isDeepStrictEqual(other, first));
}

function lengthOf(spans: readonly Span[]): number {
  return spans.reduce((sum, { tokens }) => sum + tokens.length, 0);
}

function tooLarge(path: DatasetPath, rows: number): KitError {
  return new KitError(
    "OUT_OF_MEMORY",
    `The dataset ${nameOf(path)} does not fit in memory, which filled up after ${rows} rows. Use a smaller file or a machine with more memory.`,
  );
}
