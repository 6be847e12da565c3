import {
  type ChatMessage,
  type Message,
  type TemplateKwargs,
  asMessage,
  asTools,
} from "../../protocol/chat.ts";
import { problemOfKwargs, problemOfMessage, problemOfTools } from "../../protocol/chatFaults.ts";
import { KitError } from "../../protocol/error.ts";
import type { InferRequest, InferResult } from "../../protocol/infer.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { JsonError, parseJson, stringifyJson } from "../../protocol/json.ts";
import { positionIn } from "../../protocol/jsonProblem.ts";
import { hasSystem, problemOfSystem, withSystem } from "../../protocol/system.ts";

/** A request, and how to format its answer. */
export interface LineRequest {
  request: InferRequest;
  format: (answer: InferResult) => string;
}

/** How to read input lines, and what to print without an answer. */
export interface LineFormat {
  read: (line: string) => LineRequest;
  /** Output for a blank line. Undefined skips the line. */
  blank?: string;
  failed: (line: number, error: KitError) => string;
}

/** Plain text: every input line gives one output line, so both can be pasted side by side. */
export const PLAIN: LineFormat = { read: plainRequest, blank: "", failed: () => "" };

/** Rows of a dataset, which may have blank lines between them. */
export const ROWS: LineFormat = {
  read: rowRequest,
  failed: (line, { message }) => JSON.stringify({ line, error: message }),
};

/** Plain text, answered by JSON. */
export const JSON_ANSWERS: LineFormat = {
  read: (prompt) => ({ request: { prompt }, format: (answer) => stringifyJson(answer) ?? "" }),
  failed: (line, { code, message }) => JSON.stringify({ line, error: { code, message } }),
};

export function plainRequest(prompt: string): LineRequest {
  return { request: { prompt }, format: ({ text }) => text };
}

/**
 * Reads a dataset row: a prompt with or without a completion, or a conversation, of which a final assistant
 * message is dropped, so that the answer can be compared with it.
 * @throws KitError `REQUEST_INVALID`
 */
export function rowRequest(line: string): LineRequest {
  const row = parse(line);
  if (Object.hasOwn(row, "answer")) {
    throw new KitError(
      "REQUEST_INVALID",
      'the row already has an "answer". Rename it: the model\'s answer goes there.',
    );
  }
  return {
    request: requestOf(row),
    format: ({ text, toolCalls }) =>
      stringifyJson({ ...row, answer: text, ...(toolCalls && { tool_calls: toolCalls }) }) ?? "",
  };
}

function parse(line: string): Record<string, unknown> {
  let row: unknown;
  try {
    row = parseJson(line);
  } catch (error) {
    throw error instanceof JsonError ? notJson(line, error) : invalid("nested too deeply");
  }
  if (isRecord(row)) return row;
  throw invalid("not a JSON object");
}

function notJson(line: string, { message, offset }: JsonError): KitError {
  const { column } = positionIn(line, offset);
  const advice = line.slice(0, offset).trim() === "" ? ` Write ${EXPECTED}.` : "";
  return new KitError(
    "REQUEST_INVALID",
    `not valid JSON at character ${column}: ${message}${advice}`,
  );
}

function requestOf(row: Record<string, unknown>): InferRequest {
  const { prompt } = row;
  const toolsProblem = problemOfTools(row);
  if (toolsProblem !== undefined) throw invalid(toolsProblem);
  const tools = asTools(row["tools"]);
  const value = row["chat_template_kwargs"] ?? undefined;
  const kwargsProblem = problemOfKwargs(value);
  if (kwargsProblem !== undefined) throw invalid(`"chat_template_kwargs" ${kwargsProblem}`);
  const kwargs = value !== undefined && { chatTemplateKwargs: value as TemplateKwargs };
  const extras = { ...(tools && { tools }), ...kwargs };
  if (row["messages"] !== undefined && row["messages"] !== null) {
    const messages = messagesOf(row, "messages");
    const context = messages.at(-1)?.role === "assistant" ? messages.slice(0, -1) : messages;
    if (context.length === 0) throw invalid('"messages" has no question');
    return { messages: context, ...extras };
  }
  if (prompt === undefined || prompt === null) throw invalid('no "prompt" or "messages"');
  if (typeof prompt === "string" && !tools && !hasSystem(row)) return { prompt, ...kwargs };
  return { messages: messagesOf(row, "prompt"), ...extras };
}

/** The conversation in a row's field, after the row's system text. */
function messagesOf(row: Record<string, unknown>, name: string): Message[] {
  const value = row[name];
  const list = name === "prompt" && typeof value === "string" ? [userMessage(value)] : value;
  if (!Array.isArray(list)) {
    throw invalid(
      `"${name}" is ${name === "prompt" ? "neither text nor" : "not"} a list of messages`,
    );
  }
  for (const [at, message] of list.entries()) {
    const problem = problemOfMessage(message);
    if (problem !== undefined) throw invalid(`${name}[${at}] ${problem}`);
  }
  const messages = list.map(asMessage);
  const problem = problemOfSystem(row, messages);
  if (problem !== undefined) throw invalid(problem);
  return withSystem(row, messages);
}

function userMessage(content: string): ChatMessage {
  return { role: "user", content };
}

const EXPECTED = '{"prompt":"…"} or {"messages":[{"role":"user","content":"…"}]}';

function invalid(problem: string): KitError {
  return new KitError("REQUEST_INVALID", `${problem}. Write ${EXPECTED}.`);
}
