import { createInterface } from "node:readline";
import { EXIT_CODE } from "../process/exitCode.ts";

/** A line of the input; the first is 1. */
export interface Line {
  text: string;
  number: number;
}

/** Whether a person types the lines. */
export function isInteractive(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** The lines of stdin as they arrive. Prompts for each on a terminal. */
export async function* stdinLines(): AsyncGenerator<Line> {
  let number = 0;
  for await (const text of isInteractive() ? typedLines() : pipedLines()) {
    number++;
    yield { text, number };
  }
}

/** Prompts on stderr, because stdout has only answers. */
async function* typedLines(): AsyncGenerator<string> {
  const input = createInterface({ input: process.stdin, output: process.stderr, prompt: "> " });
  // Let the shell's prompt start on a new line.
  input.on("close", () => process.stderr.write("\n"));
  input.on("SIGINT", () => {
    input.close();
    // readline swallows the signal, but the process may have work to stop.
    if (!process.emit("SIGINT")) process.exit(EXIT_CODE.cancelled);
  });
  input.prompt();
  for await (const line of input) {
    yield line;
    input.prompt();
  }
}

/** Not `readline`, which would split a JSON row at U+2028. */
async function* pipedLines(): AsyncGenerator<string> {
  let rest = "";
  let isFirst = true;
  process.stdin.setEncoding("utf8");
  for await (const chunk of process.stdin as AsyncIterable<string>) {
    const lines = (rest + (isFirst ? chunk.replace(/^\uFEFF/, "") : chunk)).split("\n");
    isFirst = false;
    rest = lines.pop() ?? "";
    yield* lines.map((line) => line.replace(/\r$/, ""));
  }
  if (rest !== "") yield rest;
}
