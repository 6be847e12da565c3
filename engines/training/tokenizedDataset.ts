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
import { createRowNotes } from "./rowNotes.ts";

export interface TokenizedDataset {
  /** Number of rows not skipped. */
  rows: number;
  /** Number of these truncated to `maxLength`. */
  truncated: number;
  /**
   * Number of rows not trained on, because no answer begins within `maxLength`, or a pair's answers are identical up to
   * there.
   */
  skipped: number;
  /** Tokens of the longest skipped row; 0 without one. */
  longestSkipped: number;
  /** Tokens of the longest row, before truncation. */
  longestRow: number;
  /** The rows' fields, such as `{prompt, completion}`; if rows differ, such as `{messages} | {text}`. */
  format: string;
  /** One per row that isn't skipped; several for a long text. */
  examples: Examples;
  /** The style of most rows' prompts. */
  promptStyle: PromptStyle;
}

export interface ReadOptions {
  /** Default: `sft`. */
  objective?: Objective;
  /** Default: Kit's own. */
  tokenizer?: Tokenizer;
  onNote?: (text: string) => void;
  /** Called with each row as it is read. */
  onRow?: ((row: InspectedRow) => void) | undefined;
  /** Free memory in bytes. For tests. */
  freeBytes?: () => number;
}

/** Rough estimate of the memory that the rest of training needs. */
const RESERVE_BYTES = 128 * 2 ** 20;

/**
 * Reads and tokenizes a materialized dataset. A conversation longer than `maxLength` tokens is truncated, or skipped if
 * no answer remains; a text is split into chunks.
 * @throws KitError `DATASET_UNREADABLE` for a missing file, `DATASET_INVALID` with the file and line that the tokenizer
 * refuses, `OUT_OF_MEMORY`
 */
export function readDataset(
  path: DatasetPath,
  maxLength: number,
  {
    objective = sft,
    tokenizer = BYTE_TOKENIZER,
    onNote = () => {},
    onRow,
    freeBytes = freeMemory,
  }: ReadOptions = {},
): TokenizedDataset {
  const counts = { read: 0, texts: 0, truncated: 0, skipped: 0, longestSkipped: 0, longest: 0 };
  const examples = createExamples(tokenizer.vocabulary, () => {
    if (freeBytes() < RESERVE_BYTES) throw tooLarge(path, counts.read);
  });
  const formats = new Set<string>();
  const rowNotes = createRowNotes(tokenizer);
  const note = createReadingNotes(onNote);
  const onRead = (bytes: number, size: number) => note(counts.read, bytes, size);
  for (const { row, where } of readRows<object>(path, onRead)) {
    const sequences = withLocation(where, () => objective.sequencesOf(row, tokenizer));
    const isText = objective.format.isText(row);
    const learnable = sequences.filter((spans) => firstLearned(spans) < maxLength);
    const isSkipped =
      !isText &&
      (objective.needsAll
        ? learnable.length < sequences.length || areIdentical(learnable, maxLength)
        : learnable.length === 0);
    const isUndesirable = objective.isUndesirable?.(row) === true;
    onRow?.({ row, where, sequences, isUndesirable, isSkipped });
    const length = Math.max(...sequences.map(lengthOf));
    // Truncated rows have a note of their own.
    const whole = isText ? [] : sequences.filter((spans) => lengthOf(spans) <= maxLength);
    rowNotes.add(row, whole, where);
    counts.read++;
    counts.longest = Math.max(counts.longest, length);
    formats.add(`{${Object.keys(row).join(", ")}}`);
    if (isText) {
      counts.texts++;
      for (const spans of sequences) examples.addChunks(spans, maxLength);
    } else if (isSkipped) {
      counts.skipped++;
      counts.longestSkipped = Math.max(counts.longestSkipped, length);
    } else {
      if (length > maxLength) counts.truncated++;
      examples.addTruncated(learnable, maxLength, isUndesirable);
    }
  }
  for (const note of rowNotes.notes()) onNote(note);
  if (examples.length === 0) {
    throw new KitError(
      "DATASET_INVALID",
      `No row of ${nameOf(path)} can be trained on within ${maxLength} tokens. Shorten the prompts or raise maxLength.`,
    );
  }
  return {
    rows: counts.read - counts.skipped,
    truncated: counts.truncated,
    skipped: counts.skipped,
    longestSkipped: counts.longestSkipped,
    longestRow: counts.longest,
    format: [...formats].sort().join(" | "),
    examples,
    promptStyle: counts.texts * 2 > counts.read ? "text" : "message",
  };
}

/** Adds the location to the error for a row that the tokenizer refuses. */
function withLocation<T>(where: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (isTooDeep(error)) throw nestedTooDeeply(where, error);
    if (!isKitError(error) || error.code !== "DATASET_INVALID") throw error;
    throw new KitError(error.code, `${where}: ${error.message}`, { cause: error });
  }
}

/** Index of the first learned token; Infinity without any. */
function firstLearned(spans: readonly Span[]): number {
  const first = spans.findIndex(({ isLearned }) => isLearned);
  return first === -1 ? Infinity : lengthOf(spans.slice(0, first));
}

/** Whether the sequences are identical up to the limit. */
function areIdentical(sequences: readonly (readonly Span[])[], maxLength: number): boolean {
  const [first = [], ...others] = sequences.map((spans) =>
    spans.flatMap(({ tokens }) => [...tokens]).slice(0, maxLength),
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
