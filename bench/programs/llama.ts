// llama.cpp's answers to the token ids of Kit's prompts, through node-llama-cpp: for each line of input,
// measures and prints `AnswerTimes` as JSON.
//   llama.js <sizes>   `LlamaSizes` as JSON
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import {
  type AnswerTimes,
  type LlamaSizes,
  type Prompt,
  createPrompts,
  createTimer,
} from "../answers.ts";

/** The used part of `node-llama-cpp`. */
interface NodeLlamaCpp {
  getLlama: (options: object) => Promise<{
    loadModel: (options: object) => Promise<{
      createContext: (options: object) => Promise<{ getSequence: () => Sequence }>;
    }>;
  }>;
}
interface Sequence {
  clearHistory: () => Promise<void>;
  evaluate: (ids: number[], options: object) => AsyncGenerator<number, void>;
}

const sizes = JSON.parse(process.argv[2] ?? "{}") as LlamaSizes;
const { folder, file, threads, sequences } = sizes;

const nextPrompt = createPrompts(sizes.model, sizes.prompt);
const before = process.memoryUsage.rss();
const entry = join(folder, "node_modules", "node-llama-cpp", "dist", "index.js");
const { getLlama } = (await import(entry)) as NodeLlamaCpp;
const build = { gpu: false, build: "never", skipDownload: true };
const llama = await getLlama({ ...build, maxThreads: threads, logLevel: "error" });
const model = await llama.loadModel({ modelPath: file, gpuLayers: 0 });
const contextSize = sizes.prompt + sizes.answer;
const context = await model.createContext({ contextSize, sequences, threads });
const all = Array.from({ length: sequences }, () => context.getSequence());

const timed = createTimer(sizes, nextPrompt, async (prompts, length) => {
  const answers = prompts.map((prompt, i) => answer(all[i]!, prompt, length));
  return (await Promise.all(answers)).reduce((sum, tokens) => sum + tokens, 0);
});

createInterface({ input: process.stdin }).on("line", () => void reply());

async function reply(): Promise<void> {
  const times = await timed();
  const grown = (process.memoryUsage.rss() - before) / 1e6;
  console.log(JSON.stringify({ ...times, grown, kernels: loadedKernels() } satisfies AnswerTimes));
}

/** Continues after the end token. @returns the number of tokens */
async function answer(sequence: Sequence, { ids }: Prompt, length: number): Promise<number> {
  await sequence.clearHistory();
  const answer = sequence.evaluate(ids, { temperature: 0, yieldEogToken: true });
  let tokens = 0;
  while (tokens < length && !(await answer.next()).done) tokens++;
  await answer.return();
  return tokens;
}

function loadedKernels(): string {
  const [, name = ""] = /libggml-cpu-(\w+)\.so/.exec(readFileSync("/proc/self/maps", "utf8")) ?? [];
  return name;
}
