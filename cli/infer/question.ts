import { KitError } from "../../protocol/error.ts";
import { type InferRequest, hasTools, isChatMessage } from "../../protocol/infer.ts";
import { isRecord } from "../../protocol/isRecord.ts";

/** A request, and how to print its answer. */
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
  if (isRecord(row) && hasTools(row)) throw invalid("the row has tools, which no model is given");
  if (isRecord(row)) return row;
  throw invalid("not a JSON object");
}

function requestOf({ messages, prompt }: Record<string, unknown>): InferRequest {
  if (messages === undefined) {
    if (typeof prompt === "string") return { prompt };
    throw invalid(prompt === undefined ? 'no "prompt" or "messages"' : '"prompt" is not a string');
  }
  if (!Array.isArray(messages) || !messages.every(isChatMessage)) {
    throw invalid(
      '"messages" is not a list of { "role": "system", "user" or "assistant", "content": a string }',
    );
  }
  const asked = messages.at(-1)?.role === "assistant" ? messages.slice(0, -1) : messages;
  if (asked.length === 0) throw invalid('"messages" has no question');
  return { messages: asked };
}

function invalid(problem: string): KitError {
  return new KitError(
    "REQUEST_INVALID",
    `${problem}. Write {"prompt":"…"} or {"messages":[{"role":"user","content":"…"}]}.`,
  );
}
