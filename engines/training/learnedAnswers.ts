import { isLearned } from "../../protocol/chat.ts";
import type { DatasetPath, DatasetRow } from "../../protocol/dataset.ts";
import type { LoadOptions } from "../../protocol/engine.ts";
import { stringifyJson } from "../../protocol/json.ts";
import type { HeldOutRows } from "../../protocol/metric.ts";
import type { TrainConfig } from "../../protocol/trainConfig.ts";
import { locateModel } from "../checkpoint/locateModel.ts";
import { type Row, ROW_FORMAT } from "../dataset/row.ts";
import { readRows } from "../dataset/rows.ts";
import { objectiveOf } from "../objectives/objectives.ts";
import type { Span } from "../tokens/tokenizer.ts";
import { findStartingPoint } from "./startingPoint.ts";

/** The limit, relative to the longest answer. It stops a model that hasn't learned to stop. */
const MARGIN = 1.25;
/** Number of rows to tokenize: those whose answers have the most bytes. */
const MAX_ROWS = 16;

/** A token limit that fits any answer of these rows, as the chat template renders them. */
export function answerTokenLimit(rows: readonly DatasetRow[], { tokensOf }: AnswerReader): number {
  return Math.ceil(
    MARGIN * rows.reduce((highest, row) => Math.max(highest, tokensOf(row as Row)), 0),
  );
}

/**
 * A token limit that fits any answer of a job's dataset; undefined if it has only plain texts.
 * @param config with materialized datasets
 */
export async function maxAnswerTokens(
  config: TrainConfig,
  options: LoadOptions,
): Promise<number | undefined> {
  let longest: { row: DatasetRow; bytes: number }[] = [];
  for (const row of answeredRows(config, config.dataset.path)) {
    const bytes = answerBytes(row as Row);
    if (bytes <= (longest[MAX_ROWS - 1]?.bytes ?? 0)) continue;
    longest = [...longest, { row, bytes }].toSorted((a, b) => b.bytes - a.bytes).slice(0, MAX_ROWS);
  }
  if (longest.length === 0) return undefined;
  const rows = longest.map(({ row }) => row);
  return answerTokenLimit(rows, await createAnswerReader(config, options));
}

export interface AnswerReader extends Pick<HeldOutRows, "endOf"> {
  /** Tokens of a row's longest answer. */
  tokensOf: (row: Row) => number;
}

/** Counts with the model's tokenizer or, if Kit can't read it, in bytes, an upper bound of tokens. */
export async function createAnswerReader(
  config: TrainConfig,
  options: LoadOptions,
): Promise<AnswerReader> {
  try {
    const source = await locateModel(config.model, options);
    const { tokenizer } = findStartingPoint(source, config);
    const tokensIn = (prompt: string) => tokenizer.promptTokens({ prompt }, "text");
    return {
      tokensOf(row) {
        const withoutTemplate = tokensIn(ROW_FORMAT.answersOf?.(row).at(-1) ?? "").length + 1;
        return Math.max(withoutTemplate, ...tokenizer.sequencesOf(row).map(longestLearned));
      },
      endOf(text) {
        const ends = tokensIn(text).filter(tokenizer.isStopToken);
        const starts = ends.map((end) => text.indexOf(tokenizer.show([end])));
        return Math.min(text.length, ...starts.filter((start) => start >= 0));
      },
    };
  } catch {
    options.signal?.throwIfAborted();
    return { tokensOf: answerBytes, endOf: (text) => text.length };
  }
}

/** Bytes of the longest answer, with tool calls and reasoning; 0 for a text. */
function answerBytes(row: Row): number {
  if ("text" in row) return 0;
  if ("completion" in row) return Buffer.byteLength(row.completion);
  const answers = row.messages.filter(isLearned);
  return Math.max(0, ...answers.map((answer) => Buffer.byteLength(stringifyJson(answer) ?? "")));
}

function longestLearned(spans: readonly Span[]): number {
  let [longest, run] = [0, 0];
  for (const { tokens, isLearned } of spans) {
    run = isLearned ? run + tokens.length : 0;
    longest = Math.max(longest, run);
  }
  return longest;
}

/** Reads a dataset's rows as questions with their right answers. @param includes whether to read a row, by its index */
export function* answeredRows(
  config: TrainConfig,
  path: DatasetPath,
  includes: (row: number) => boolean = () => true,
): Generator<DatasetRow> {
  let index = 0;
  const { format } = objectiveOf(config);
  for (const { row } of readRows<object>(path)) {
    const answered = includes(index++) && format.rightAnswerOf(row);
    if (answered) yield answered;
  }
}

/** The system message that all rows of a job share, if any. */
export function sharedSystem(config: TrainConfig): string | undefined {
  let shared: string | undefined;
  for (const row of answeredRows(config, config.dataset.path)) {
    const [first] = "messages" in row ? (row as Extract<Row, { messages: unknown }>).messages : [];
    if (first?.role !== "system" || first.content !== (shared ??= first.content)) return undefined;
  }
  return shared;
}
