import { setMaxListeners } from "node:events";
import type { AnswerCache } from "../../jobs/answerCache.ts";
import type { ChatMessage } from "../../protocol/chat.ts";
import type { DatasetRow } from "../../protocol/dataset.ts";
import type { LoadedModel } from "../../protocol/engine.ts";
import { type KitError, isKitError } from "../../protocol/error.ts";
import { formatCounted } from "../../protocol/format.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import type { Answered } from "../../protocol/metric.ts";

/** A dataset row as a request, and its own answer. */
export interface EvalExample {
  request: InferRequest;
  input: string;
  expected: string;
}

/** Concurrent requests: engines batch them. */
export const MAX_CONCURRENT = 16;

export interface AnswerRowsOptions {
  maxTokens?: number | undefined;
  temperature?: number | undefined;
  seed?: number | undefined;
  /** See `HeldOutRows.endOf`. Default: the whole answer. */
  endOf?: (answer: string) => number;
  signal: AbortSignal;
  /** Answers of earlier evaluations; new ones are added. */
  cache?: AnswerCache | undefined;
  /** Called with the number of answered rows, and how many of them were cached. */
  onAnswer?: (count: number, cached: number) => void;
  /** Called with a note on rows that the model refuses, such as one that is too long. */
  onNote?: (text: string) => void;
}

/** Undefined for a row without a text answer, such as a plain text or a tool call. */
export function evalExampleOf(row: DatasetRow): EvalExample | undefined {
  if ("text" in row) return undefined;
  const { tools: offered, chat_template_kwargs: kwargs } = row;
  const tools = offered && { tools: offered };
  const variables = kwargs && { chatTemplateKwargs: kwargs };
  if ("completion" in row) {
    const { prompt, completion } = row;
    const request = tools
      ? { messages: [{ role: "user" as const, content: prompt }], ...tools, ...variables }
      : { prompt, ...variables };
    return { request, input: prompt, expected: completion };
  }
  const { messages } = row;
  const last = messages.findLastIndex(({ role, weight }) => role === "assistant" && weight !== 0);
  const expected = textOf(messages[last]);
  const context = messages.slice(0, last);
  if (expected === undefined || context.length === 0) return undefined;
  const request = { messages: context, ...tools, ...variables };
  return { request, input: textOf(context.at(-1)) ?? "", expected };
}

/** Whether a row has a text answer to compare with. */
export function isEvaluable(row: DatasetRow): boolean {
  return evalExampleOf(row) !== undefined;
}

function textOf(message: ChatMessage | undefined): string | undefined {
  const content = message?.content;
  if (typeof content === "string" || !content) return content ?? undefined;
  return content.map(({ text }) => text).join("\n");
}

/**
 * Collects a model's answers.
 * @returns answers in the rows' order, without refused rows
 * @throws the model's first error, also if it refuses all rows; the signal's reason
 */
export async function answerRows(
  model: Pick<LoadedModel, "infer">,
  rows: readonly DatasetRow[],
  { endOf, signal, cache, onAnswer, onNote, ...options }: AnswerRowsOptions,
): Promise<Answered[]> {
  // All concurrent requests listen to the signal.
  setMaxListeners(0, signal);
  const answers: Answered[] = [];
  const entries = rows.entries();
  let [count, cachedCount] = [0, 0];
  const refused: KitError[] = [];

  async function answerTo(request: InferRequest): Promise<string | undefined> {
    const cached = cache?.get(request);
    if (cached !== undefined) {
      cachedCount++;
      return cached;
    }
    try {
      const answer = await model.infer({ ...request, lenient: true, signal });
      cache?.set(request, answer);
      return answer.text;
    } catch (error) {
      if (!isKitError(error) || error.code !== "REQUEST_INVALID") throw error;
      refused.push(error);
      return undefined;
    }
  }

  async function answerNext(): Promise<void> {
    for (const [i, row] of entries) {
      const example = evalExampleOf(row);
      if (!example) continue;
      const { input } = example;
      const expected = example.expected.slice(0, endOf?.(example.expected));
      const request: InferRequest = { ...example.request, ...options };
      const output = await answerTo(request);
      if (output !== undefined) answers[i] = { row, input, output, expected };
      onAnswer?.(++count, cachedCount);
    }
  }
  await Promise.all(Array.from({ length: MAX_CONCURRENT }, answerNext));
  // Drops the holes of rows that were skipped or refused.
  const present = answers.filter(() => true);
  const [first] = refused;
  if (first && present.length === 0) throw first;
  if (first)
    onNote?.(`${formatCounted(refused.length, "row")} refused by the model: ${first.message}`);
  return present;
}
