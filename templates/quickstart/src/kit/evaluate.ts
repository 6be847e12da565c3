/// <reference types="node" />
import { readFile } from "node:fs/promises";
import type { Infer } from "kit";

const HELD_OUT = "data/heldout.jsonl";
/** Rows to ask, from the top of the file: five of each of the eight formats. */
const ASKED = 40;
/** Answers to print, the same ones at each checkpoint, so that you see them get better. */
const PRINTED = 5;

interface Row {
  prompt: string;
  completion: string;
}

/** Asks the model for rows it was not trained on, and prints how many answers are exactly right. */
export async function printHeldOut(step: number, infer: Infer): Promise<void> {
  const lines = (await readFile(HELD_OUT, "utf8")).split("\n").filter((line) => line.trim() !== "");
  const rows = lines.slice(0, ASKED).map((line) => JSON.parse(line) as Row);

  const answers = [];
  for (const { prompt, completion } of rows) {
    // Enough for the right answer; a model that has learned little would not stop by itself.
    const { text } = await infer({ prompt, maxTokens: 1 + 2 * Buffer.byteLength(completion) });
    answers.push({ prompt, completion, text, right: text === completion });
  }

  const right = answers.filter((answer) => answer.right).length;
  const rate = ((100 * right) / answers.length).toFixed(1);
  console.log(`held-out  step=${step}  exact-match=${rate}%  right=${right}/${answers.length}`);

  const printed = answers.slice(0, PRINTED);
  const width = Math.max(...printed.map(({ prompt }) => prompt.length));
  for (const { prompt, completion, text, right } of printed) {
    // Quoted, because an early answer may hold line breaks.
    const answer = `${prompt.padEnd(width)}  →  ${JSON.stringify(text)}`;
    console.log(right ? `  right  ${answer}` : `  wrong  ${answer}  expected "${completion}"`);
  }
}
