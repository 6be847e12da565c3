// An open model's work: one piece for each line of input, and for each a line of JSON.
//   openModel.js learn <sizes>  a step on given tokens: its milliseconds (on one thread those of the
//                               processor) and its loss
//   openModel.js train <sizes>  a training on texts as a job does it: to its first loss, to its end
//   openModel.js infer <sizes>  an answer: its tokens a second
// <sizes> is JSON, an `OpenModelSizes`.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { openCheckpoint } from "../../engines/checkpoint/checkpoint.ts";
import type * as embedded from "../../engines/embedded/index.ts";
import type { Example } from "../../engines/examples/examples.ts";
import { randomAdapter } from "../../engines/llama/adapter.ts";
import type * as sdk from "../../sdk/index.ts";
import { OPTIONS, createTeam, limitsOf, planTraining } from "../engine.ts";
import { type OpenModelSizes, OPEN_LORA, OPEN_SEED } from "../openModel.ts";
import { ROOT } from "../places.ts";
import { time } from "../statistics.ts";

const RATE = 2e-4;
const STEPS = 2;
const PROMPT = "The quick brown fox";

const [mode, json = "{}"] = process.argv.slice(2);
const sizes = JSON.parse(json) as OpenModelSizes;
const { rows, length, threads } = sizes;
process.env["KIT_THREADS"] = String(threads);

const MODES: Record<string, () => Promise<() => unknown>> = { learn, train, infer };
const start = MODES[mode ?? ""];
if (!start) throw new Error(`There is no mode ${mode}.`);
const work = await start();
createInterface({ input: process.stdin }).on("line", () => {
  void answer();
});

async function answer(): Promise<void> {
  console.log(JSON.stringify(await work()));
}

function learn() {
  const { shape, weights } = openCheckpoint(sizes.model);
  const { bfloat16 } = weights;
  const lora = OPEN_LORA;
  const limits = limitsOf(rows, length);
  const plan = planTraining({ shape, bfloat16, limits, lora, threads, options: OPTIONS });
  const adapter = randomAdapter(lora, shape, OPEN_SEED);
  const learner = createTeam(plan, adapter, weights.read, sizes.simd);
  const nextBatch = createBatches();
  let step = 0;
  return Promise.resolve(() => {
    const batch = nextBatch();
    const start = now();
    const { loss } = learner.backpropagate([batch]);
    learner.update(++step, RATE);
    return { ms: now() - start, loss };
  });
}

/** Other work on the machine does not lengthen a thread's processor time. */
function now(): number {
  const { user, system } = process.cpuUsage();
  return threads === 1 ? (user + system) / 1000 : performance.now();
}

/** Batch after batch of the file's tokens, from the start again when they end. */
function createBatches(): () => Example[] {
  const bytes = readFileSync(sizes.tokens);
  const all = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const learned = new Uint8Array(length + 1).fill(1, 1);
  let from = 0;
  return () => {
    if (from + rows * (length + 1) > all.length) from = 0;
    return Array.from({ length: rows }, () => {
      const tokens = all.subarray(from, from + length + 1);
      from += length + 1;
      return { tokens, learned };
    });
  };
}

async function train() {
  const { createEmbeddedEngine } = await built<typeof embedded>("engines/embedded");
  const directory = mkdtempSync(join(tmpdir(), "kit-bench-"));
  process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
  const engine = createEmbeddedEngine();
  const config = engine.prepare({
    ...{ model: sizes.model, dataset: { type: "jsonl", path: sizes.texts }, lora: OPEN_LORA },
    ...{ batchSize: rows, maxLength: length + 1, maxSteps: STEPS },
  });
  let training: Promise<void> | undefined;
  /** First until its first loss, then until it ends. */
  return async () => {
    if (training) return training.then(() => ({}));
    return new Promise((resolve, reject) => {
      training = engine.train({
        ...{ config, directory, signal: new AbortController().signal },
        onEvent({ event, data }) {
          if (event === "training.log") resolve({ loss: data.loss });
        },
      });
      training.catch(reject);
    });
  };
}

async function infer() {
  const { loadModel } = await built<typeof sdk>("sdk");
  const model = await loadModel(sizes.model);
  return async () => {
    let tokens = 0;
    const ms = await time(async () => {
      ({ tokens } = await model.infer({ prompt: PROMPT, maxTokens: length }));
    });
    if (tokens !== length) throw new Error(`The answer ended after ${tokens} tokens.`);
    return { speed: (tokens * 1000) / ms };
  };
}

/** A part of Kit as it is built. */
async function built<T>(path: string): Promise<T> {
  return (await import(join(ROOT, "dist", path, "index.js"))) as T;
}
