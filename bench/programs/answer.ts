// Answers through Kit's SDK: for each line of input, measures and prints `AnswerTimes` as JSON.
//   answer.js <sizes>   `AnswerSizes` as JSON
import { createInterface } from "node:readline";
import type * as sdk from "../../sdk/index.ts";
import { type AnswerSizes, type AnswerTimes, createPrompts, createTimer } from "../answers.ts";
import { built } from "../paths.ts";

const sizes = JSON.parse(process.argv[2] ?? "{}") as AnswerSizes;
process.env["KIT_THREADS"] = String(sizes.threads);

const { loadModel } = await built<typeof sdk>("sdk/index.js");
const nextPrompt = createPrompts(sizes.model, sizes.prompt);
const before = process.memoryUsage.rss();
const options = { ...(sizes.quantize && { quantize: sizes.quantize }) };
const model = await loadModel(sizes.model, options);

const timed = createTimer(sizes, nextPrompt, async (prompts, maxTokens) => {
  const answers = prompts.map(({ request }) => model.infer({ ...request, maxTokens }));
  return (await Promise.all(answers)).reduce((sum, { tokens }) => sum + tokens, 0);
});

createInterface({ input: process.stdin }).on("line", () => void reply());

async function reply(): Promise<void> {
  const times = await timed();
  const grown = (process.memoryUsage.rss() - before) / 1e6;
  console.log(JSON.stringify({ ...times, grown } satisfies AnswerTimes));
}
