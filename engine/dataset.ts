import { readFileSync } from "node:fs";
import type { ChatMessage } from "../protocol/engine.ts";
import { conversation, document, type Example } from "./chat.ts";
import { EngineError } from "./error.ts";

/** A row as the file has it. */
export type Row =
  | { messages: ChatMessage[] }
  | { prompt: string; completion: string }
  | { text: string };

export interface Dataset {
  /** Lines with something to learn, a count. */
  rows: number;
  /** What is trained on: a row each, or more where a long text was cut. */
  examples: Example[];
  /** Whether a bare prompt is a user's message or the start of a text: as in most rows. */
  promptStyle: PromptStyle;
}

export type PromptStyle = "message" | "text";

const EXPECTED =
  'one of {"messages":[{"role":"user","content":"…"},{"role":"assistant","content":"…"}]}, {"prompt":"…","completion":"…"} or {"text":"…"}';

/**
 * Reads a JSONL file. A conversation that is longer than `maxLength` tokens loses its end, and is
 * left out if no answer remains; a text is cut into pieces.
 * @throws EngineError `DATASET_UNREADABLE` without a file, `DATASET_INVALID` with file and line
 */
export function readDataset(path: string, maxLength: number): Dataset {
  const examples: Example[] = [];
  const counts = { rows: 0, learnable: 0, texts: 0 };
  for (const { text, number } of lines(path)) {
    const row = parseRow(text, `${path}:${number}`);
    const pieces = toExamples(row, maxLength).filter(({ learned }) => learned.includes(1));
    counts.rows++;
    if (pieces.length > 0) counts.learnable++;
    if ("text" in row) counts.texts++;
    examples.push(...pieces);
  }
  if (counts.rows === 0) {
    throw new EngineError(
      "DATASET_INVALID",
      `${path} has no rows: write ${EXPECTED} on each line.`,
    );
  }
  if (examples.length === 0) {
    throw new EngineError(
      "DATASET_INVALID",
      `No row of ${path} has an answer within ${maxLength} tokens: shorten the prompts or raise maxLength.`,
    );
  }
  const promptStyle = counts.texts * 2 > counts.rows ? "text" : "message";
  return { rows: counts.learnable, examples, promptStyle };
}

function* lines(path: string): Generator<{ text: string; number: number }> {
  const file = readFile(path);
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let number = 0;
  for (let start = 0; start < file.length;) {
    const newline = file.indexOf(0x0a, start);
    const end = newline === -1 ? file.length : newline;
    number++;
    let text: string;
    try {
      text = decoder.decode(file.subarray(start, end));
    } catch (cause) {
      throw new EngineError(
        "DATASET_INVALID",
        `${path}:${number}: not UTF-8: save the file as UTF-8.`,
        { cause },
      );
    }
    // Trims a byte order mark, too.
    text = text.trim();
    if (text !== "") yield { text, number };
    start = end + 1;
  }
}

function readFile(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "there is no such file" : message;
    throw new EngineError(
      "DATASET_UNREADABLE",
      `Cannot read the dataset ${path}: ${why}. Check dataset.path, which is relative to the project.`,
      {
        cause,
      },
    );
  }
}

/** @throws EngineError `DATASET_INVALID`, its message beginning with `where` */
export function parseRow(text: string, where: string): Row {
  const fail = (problem: string, cause?: unknown): never => {
    throw new EngineError("DATASET_INVALID", `${where}: ${problem}; expected ${EXPECTED}.`, {
      cause,
    });
  };
  let row: unknown;
  try {
    row = JSON.parse(text);
  } catch (cause) {
    return fail("not valid JSON", cause);
  }
  if (typeof row !== "object" || row === null || Array.isArray(row))
    return fail("not a JSON object");
  if ("messages" in row) {
    if (!Array.isArray(row.messages) || row.messages.length === 0) {
      return fail('"messages" is not a list of messages');
    }
    const wrong = row.messages.findIndex((message) => !isChatMessage(message));
    if (wrong !== -1) {
      return fail(
        `messages[${wrong}] needs a "role" (system, user or assistant) and a "content" text`,
      );
    }
    const messages = row.messages as ChatMessage[];
    if (!messages.some(({ role }) => role === "assistant"))
      return fail('no message of the "assistant" to learn');
    return { messages };
  }
  if ("prompt" in row || "completion" in row) {
    const { prompt, completion } = row as { prompt?: unknown; completion?: unknown };
    if (typeof prompt !== "string") return fail('"prompt" is not a text');
    if (typeof completion !== "string") return fail('"completion" is not a text');
    return { prompt, completion };
  }
  if ("text" in row) {
    return typeof row.text === "string" ? { text: row.text } : fail('"text" is not a text');
  }
  return fail('no "messages", "prompt" or "text"');
}

export function isChatMessage(value: unknown): value is ChatMessage {
  if (typeof value !== "object" || value === null) return false;
  const { role, content } = value as { role?: unknown; content?: unknown };
  const known = role === "system" || role === "user" || role === "assistant";
  return known && typeof content === "string";
}

function toExamples(row: Row, maxLength: number): Example[] {
  if (!("text" in row)) {
    const { tokens, learned } = conversation("messages" in row ? row.messages : asMessages(row));
    return [{ tokens: tokens.slice(0, maxLength), learned: learned.slice(0, maxLength) }];
  }
  const { tokens, learned } = document(row.text);
  const pieces: Example[] = [];
  // Each piece begins with the last token of the one before, so that no token goes unlearned.
  for (let start = 0; start + 1 < tokens.length; start += maxLength - 1) {
    const end = start + maxLength;
    pieces.push({
      tokens: tokens.slice(start, end),
      learned: [0, ...learned.slice(start + 1, end)],
    });
  }
  return pieces;
}

function asMessages({ prompt, completion }: { prompt: string; completion: string }): ChatMessage[] {
  return [
    { role: "user", content: prompt },
    { role: "assistant", content: completion },
  ];
}
