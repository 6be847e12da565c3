import { createInterface } from "node:readline";
import { EXIT_CODE } from "../process/exitCode.ts";

/** A line of the input; the first is 1. */
export interface Line {
  text: string;
  number: number;
}

/** Whether a person types the lines. */
export function isTyped(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** The lines of stdin, as they come. On a terminal, asks for each. */
export async function* stdinLines(): AsyncGenerator<Line> {
  let number = 0;
  for await (const text of isTyped() ? typedLines() : pipedLines()) {
    number++;
    yield { text, number };
  }
}

/** Asks on stderr: stdout has the answers alone. */
async function* typedLines(): AsyncGenerator<string> {
  const input = createInterface({ input: process.stdin, output: process.stderr, prompt: "> " });
  // The shell's own prompt goes on a line of its own.
  input.on("close", () => process.stderr.write("\n"));
  input.on("SIGINT", () => {
    input.close();
    // readline keeps it from the process, which may have a job to stop.
    if (!process.emit("SIGINT")) process.exit(EXIT_CODE.cancelled);
  });
  input.prompt();
  for await (const line of input) {
    yield line;
    input.prompt();
  }
}

/** As `readline` does not: a row of JSON may have U+2028, which readline takes for a line's end. */
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
