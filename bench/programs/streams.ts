// A model as a Node program has it: for each line of input it streams an answer, and prints a line of JSON,
// `StreamTimes`.
//   streams.js <sizes>   JSON, a `StreamSizes`
import { join } from "node:path";
import { createInterface } from "node:readline";
import type * as sdk from "../../sdk/index.ts";
import { createPrompts } from "../answers.ts";
import { ROOT } from "../places.ts";
import { type StreamSizes, type StreamTimes, SCHEMA, timePieces } from "../streams.ts";

const sizes = JSON.parse(process.argv[2] ?? "{}") as StreamSizes;
const { model: directory, quantize, prompt, answer, isHeld = false } = sizes;

const { loadModel } = (await import(join(ROOT, "dist", "sdk", "index.js"))) as typeof sdk;
const nextPrompt = createPrompts(directory, prompt);
const model = await loadModel(directory, { ...(quantize && { quantize }) });

createInterface({ input: process.stdin }).on("line", () => void reply());

async function reply(): Promise<void> {
  const { request } = nextPrompt();
  const held = isHeld && { schema: SCHEMA };
  const times = await timePieces(model.stream({ ...request, ...held, maxTokens: answer }));
  console.log(JSON.stringify(times satisfies StreamTimes));
}
