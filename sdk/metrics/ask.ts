import { setMaxListeners } from "node:events";
import type { AnswerCache } from "../../jobs/answerCache.ts";
import type { ChatMessage } from "../../protocol/chat.ts";
import type { DatasetRow } from "../../protocol/dataset.ts";
import type { LoadedModel } from "../../protocol/engine.ts";
import { type KitError, isKitError } from "../../protocol/error.ts";
import { formatCounted } from "../../protocol/format.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import type { Answered } from "../../protocol/metric.ts";

/** A row's question, and its own answer. */
export interface Question {
  request: InferRequest;
  input: string;
  expected: string;
}

/** Concurrent questions: engines batch them. */
export const MAX_CONCURRENT = 16;

/** Options of `askRows`. */
export interface AskOptions {
  maxTokens?: number | undefined;
  temperature?: number | undefined;
  seed?: number | undefined;
  /** See `HeldOutQuestions.endOf`. Default: the whole answer. */
  endOf?: (answer: string) => number;
  signal: AbortSignal;
  /** Known answers; new ones are added. */
  cache?: AnswerCache | undefined;
  /** Called with the number of answered rows, and how many of them were cached. */
  onAnswer?: (count: number, known: number) => void;
  /** Called with a note on rows that the model refuses, such as one that is too long. */
  onNote?: (text: string) => void;
}

/** A row's question; undefined without a text answer, as for a text or a tool call. */
export function questionOf(row: DatasetRow): Question | undefined {
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
  const at = messages.findLastIndex((one) => one.role === "assistant" && one.weight !== 0);
  const expected = textOf(messages[at]);
  const context = messages.slice(0, at);
  if (expected === undefined || context.length === 0) return undefined;
  const request = { messages: context, ...tools, ...variables };
  return { request, input: textOf(context.at(-1)) ?? "", expected };
}

/** Whether a row has a question. */
export function hasQuestion(row: DatasetRow): boolean {
  return questionOf(row) !== undefined;
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
export async function askRows(
  model: Pick<LoadedModel, "infer">,
  rows: readonly DatasetRow[],
  { endOf, signal, cache, onAnswer, onNote, ...options }: AskOptions,
): Promise<Answered[]> {
  // All concurrent requests listen to it.
  setMaxListeners(0, signal);
  const answers: Answered[] = [];
  const entries = rows.entries();
  let [count, knownCount] = [0, 0];
  const refused: KitError[] = [];

  async function answerTo(request: InferRequest): Promise<string | undefined> {
    const known = cache?.get(request);
    if (known !== undefined) {
      knownCount++;
      return known;
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

  async function askNext(): Promise<void> {
    for (const [i, row] of entries) {
      const question = questionOf(row);
      if (!question) continue;
      const { input } = question;
      const expected = question.expected.slice(0, endOf?.(question.expected));
      const request: InferRequest = { ...question.request, ...options };
      const output = await answerTo(request);
      if (output !== undefined) answers[i] = { row, input, output, expected };
      onAnswer?.(++count, knownCount);
    }
  }
  await Promise.all(Array.from({ length: MAX_CONCURRENT }, askNext));
  // Skips holes of rows without a question or an answer.
  const found = answers.filter(() => true);
  const [first] = refused;
  if (first && found.length === 0) throw first;
  if (first)
    onNote?.(`${formatCounted(refused.length, "row")} refused by the model: ${first.message}`);
  return found;
}
