import { readFileSync } from "node:fs";
import type { Example, PromptStyle } from "../llama/chat.ts";
import { EngineError } from "../error.ts";
import { EXPECTED_ROW, exampleOf, parseRow } from "./row.ts";

export interface Dataset {
  /** Lines with something to learn, a count. */
  rows: number;
  /** Lines that lost their end, or all there was to learn, to `maxLength`; a count. */
  cut: number;
  /** The names that rows have: `{prompt, completion}`, or of several kinds `{messages} | {text}`. */
  format: string;
  /** What is trained on: a row each, or more where a long text was cut. */
  examples: Example[];
  /** As in most rows. */
  promptStyle: PromptStyle;
}

/**
 * Reads a JSONL file. A conversation that is longer than `maxLength` tokens loses its end, and is
 * left out if no answer remains; a text is cut into pieces.
 * @throws EngineError `DATASET_UNREADABLE` without a file, `DATASET_INVALID` with file and line
 */
export function readDataset(path: string, maxLength: number): Dataset {
  const examples: Example[] = [];
  const formats = new Set<string>();
  const counts = { rows: 0, learnable: 0, cut: 0, texts: 0 };
  for (const { text, number } of lines(path)) {
    const row = parseRow(text, `${path}:${number}`);
    const isText = "text" in row;
    const whole = exampleOf(row);
    const pieces = (isText ? split : truncate)(whole, maxLength);
    const learnable = pieces.filter(({ learned }) => learned.includes(1));
    formats.add(`{${Object.keys(row).join(", ")}}`);
    counts.rows++;
    if (learnable.length > 0) counts.learnable++;
    if (isText) counts.texts++;
    else if (whole.tokens.length > maxLength) counts.cut++;
    examples.push(...learnable);
  }
  if (counts.rows === 0) {
    throw new EngineError(
      "DATASET_INVALID",
      `${path} has no rows: write ${EXPECTED_ROW} on each line.`,
    );
  }
  if (examples.length === 0) {
    throw new EngineError(
      "DATASET_INVALID",
      `No row of ${path} has an answer within ${maxLength} tokens: shorten the prompts or raise maxLength.`,
    );
  }
  return {
    rows: counts.learnable,
    cut: counts.cut,
    format: [...formats].sort().join(" | "),
    examples,
    promptStyle: counts.texts * 2 > counts.rows ? "text" : "message",
  };
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

const PROBLEMS: Record<string, string> = {
  ENOENT: "there is no such file",
  EISDIR: "it is a folder, not a file",
};

function readFile(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = PROBLEMS[code ?? ""] ?? message;
    throw new EngineError(
      "DATASET_UNREADABLE",
      `Cannot read the dataset ${path}: ${why}. Check dataset.path, which is relative to the project.`,
      { cause },
    );
  }
}

function truncate({ tokens, learned }: Example, length: number): Example[] {
  return [{ tokens: tokens.slice(0, length), learned: learned.slice(0, length) }];
}

/** Each piece begins with the last token of the one before, so that no token goes unlearned. */
function split({ tokens, learned }: Example, length: number): Example[] {
  const pieces: Example[] = [];
  for (let start = 0; start + 1 < tokens.length; start += length - 1) {
    const end = start + length;
    pieces.push({
      tokens: tokens.slice(start, end),
      learned: [0, ...learned.slice(start + 1, end)],
    });
  }
  return pieces;
}
