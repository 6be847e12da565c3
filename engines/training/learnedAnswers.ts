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

/** Headroom over the longest answer. Without a limit, a model that hasn't learned to stop would ramble on. */
const MARGIN = 1.25;
/** Rows with the longest answers to tokenize. */
const MAX_ROWS = 16;

/** Enough tokens for any answer of these rows, as the template renders them. */
export function enoughTokens(rows: readonly DatasetRow[], { tokensOf }: AnswerReader): number {
  return Math.ceil(
    MARGIN * rows.reduce((highest, row) => Math.max(highest, tokensOf(row as Row)), 0),
  );
}

/**
 * Enough tokens for any answer that a job learns; undefined if it learns texts.
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
  return enoughTokens(rows, await readerOf(config, options));
}

export interface AnswerReader extends Pick<HeldOutRows, "endOf"> {
  /** Tokens of a row's longest answer. */
  tokensOf: (row: Row) => number;
}

/** Falls back to bytes, an upper bound of tokens, if Kit can't read the model's tokenizer. */
export async function readerOf(config: TrainConfig, options: LoadOptions): Promise<AnswerReader> {
  try {
    const source = await locateModel(config.model, options);
    const { tokenizer } = findStartingPoint(source, config);
    const tokensIn = (prompt: string) => tokenizer.promptTokens({ prompt }, "text");
    return {
      tokensOf(row) {
        const [own, end] = [tokensIn(ROW_FORMAT.answersOf?.(row).at(-1) ?? "").length, 1];
        return Math.max(own + end, ...tokenizer.sequencesOf(row).map(longestLearned));
      },
      endOf(text) {
        const ends = tokensIn(text).filter(tokenizer.isStopToken);
        const starts = ends.map((end) => text.indexOf(tokenizer.show([end])));
        return Math.min(text.length, ...starts.filter((at) => at >= 0));
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

/** Rows with their right answers. */
export function* answeredRows(
  config: TrainConfig,
  path: DatasetPath,
  isTaken: (row: number) => boolean = () => true,
): Generator<DatasetRow> {
  let number = 0;
  const { format: form } = objectiveOf(config);
  for (const { row } of readRows<object>(path)) {
    const answered = isTaken(number++) && form.rightAnswerOf(row);
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
