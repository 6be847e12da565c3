import {
  type ChatMessage,
  asTools,
  problemOfMessage,
  problemOfTools,
} from "../../protocol/chat.ts";
import { KitError } from "../../protocol/error.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import { isRecord } from "../../protocol/isRecord.ts";

/** A request, and how to print the answer. */
export interface Question {
  request: InferRequest;
  print: (answer: string) => string;
}

/** How lines are read, and what stands in place of an answer. */
export interface LineForm {
  read: (line: string) => Question;
  /** Output for a blank line. Undefined skips the line. */
  blank?: string;
  failed: (line: number, error: string) => string;
}

/** Lines of text: each has its line of output, so that both can be laid side by side. */
export const PLAIN: LineForm = { read: plainQuestion, blank: "", failed: () => "" };

/** Rows of a dataset, which may have blank lines between them. */
export const ROWS: LineForm = {
  read: rowQuestion,
  failed: (line, error) => JSON.stringify({ line, error }),
};

export function plainQuestion(prompt: string): Question {
  return { request: { prompt }, print: (answer) => answer };
}

/**
 * A row as a dataset has it: a prompt with or without a completion, or a conversation. One that ends
 * with the assistant's message is asked without it, so that the answer can be compared.
 * @throws KitError `REQUEST_INVALID`
 */
export function rowQuestion(line: string): Question {
  const row = parse(line);
  if (Object.hasOwn(row, "answer")) {
    throw new KitError(
      "REQUEST_INVALID",
      'the row already has an "answer". Rename it: the model\'s answer goes there.',
    );
  }
  return {
    request: requestOf(row),
    print: (answer) => JSON.stringify({ ...row, answer }),
  };
}

function parse(line: string): Record<string, unknown> {
  let row: unknown;
  try {
    row = JSON.parse(line);
  } catch {
    throw invalid("not valid JSON");
  }
  if (isRecord(row)) return row;
  throw invalid("not a JSON object");
}

function requestOf(row: Record<string, unknown>): InferRequest {
  const { messages, prompt } = row;
  const wrong = problemOfTools(row);
  if (wrong !== undefined) throw invalid(wrong);
  const tools = asTools(row["tools"]);
  if (messages === undefined) {
    if (typeof prompt !== "string") {
      throw invalid(
        prompt === undefined ? 'no "prompt" or "messages"' : '"prompt" is not a string',
      );
    }
    return tools ? { messages: [{ role: "user", content: prompt }], tools } : { prompt };
  }
  if (!Array.isArray(messages)) throw invalid('"messages" is not a list of messages');
  for (const [at, message] of messages.entries()) {
    const problem = problemOfMessage(message);
    if (problem !== undefined) throw invalid(`messages[${at}] ${problem}`);
  }
  const all = messages as ChatMessage[];
  const asked = all.at(-1)?.role === "assistant" ? all.slice(0, -1) : all;
  if (asked.length === 0) throw invalid('"messages" has no question');
  return { messages: asked, ...(tools && { tools }) };
}

function invalid(problem: string): KitError {
  return new KitError(
    "REQUEST_INVALID",
    `${problem}. Write {"prompt":"…"} or {"messages":[{"role":"user","content":"…"}]}.`,
  );
}
