// A model in a Node program: for each line of input, streams an answer and prints `StreamTimes` as JSON.
//   streams.js <sizes>   `StreamSizes` as JSON
import { createInterface } from "node:readline";
import type * as sdk from "../../sdk/index.ts";
import { createPrompts } from "../answers.ts";
import { built } from "../paths.ts";
import { type StreamSizes, type StreamTimes, SCHEMA, timeChunks } from "../streams.ts";

const sizes = JSON.parse(process.argv[2] ?? "{}") as StreamSizes;
const { model: directory, quantize, prompt, answer, isConstrained = false } = sizes;

const { loadModel } = await built<typeof sdk>("sdk/index.js");
const nextPrompt = createPrompts(directory, prompt);
const model = await loadModel(directory, { ...(quantize && { quantize }) });

createInterface({ input: process.stdin }).on("line", () => void reply());

async function reply(): Promise<void> {
  const { request } = nextPrompt();
  const held = isConstrained && { schema: SCHEMA };
  const times = await timeChunks(model.stream({ ...request, ...held, maxTokens: answer }));
  console.log(JSON.stringify(times satisfies StreamTimes));
}
