// The engine's work, and the least of it that cannot be left out, in turn in one process.
//   engine.js train <sizes>   tokens per second: a step, against its matmuls alone
//   engine.js memory <sizes>  bytes in the second and in the last fifth of the steps; wants node --expose-gc
//   engine.js infer <sizes>   tokens per second: an answer, against a forward pass of training
// <sizes> is JSON, an `EngineSizes`. Prints JSON.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { blockUntilReady, jit, tree } from "@jax-js/jax";
import { startBackend } from "../../engines/embedded/model/backend.ts";
import type { Batch } from "../../engines/embedded/train/batch.ts";
import { saveModel } from "../../engines/checkpoint/checkpoint.ts";
import { createLearner, createLoss, toArrays } from "../../engines/embedded/train/learner.ts";
import { toParams } from "../../engines/embedded/model/model.ts";
import { resolveModel } from "../../engines/llama/presets.ts";
import { createRandom } from "../../engines/llama/random.ts";
import { BYTES } from "../../engines/llama/tokenizer.ts";
import { randomWeights } from "../../engines/llama/weights.ts";
import type { ModelShape } from "../../protocol/trainConfig.ts";
import type * as sdk from "../../sdk/index.ts";
import { stepProducts } from "../matmuls.ts";
import { ROOT } from "../places.ts";
import { alternate, median, time } from "../statistics.ts";

export interface EngineSizes {
  model: string | ModelShape;
  /** Of a batch. */
  rows: number;
  /** Tokens a row. */
  length: number;
  /** In one run. */
  steps: number;
  runs: number;
}

const RATE = 1e-3;
const SEED = 1;
const PROMPT = "the 7th of March, 1998";

const [mode, json = "{}"] = process.argv.slice(2);
const sizes = JSON.parse(json) as EngineSizes;
const { rows, length, steps, runs } = sizes;
const source = resolveModel(sizes.model);
if (source.kind !== "shape") throw new Error("Only a model that starts from a shape is measured.");
const { shape } = source;
const tokens = rows * length;
const weights = randomWeights(shape, SEED);
const batch = randomBatch();

const MODES: Record<string, () => Promise<object>> = { train, memory, infer };
const work = MODES[mode ?? ""];
if (!work) throw new Error(`There is no mode ${mode}.`);
await startBackend();
console.log(JSON.stringify(await work()));

function train(): Promise<object> {
  const { learn } = startLearning();
  const products = stepProducts(shape, rows, length);
  return alternate(
    {
      ours: () => tokensPerSecond(() => learn()),
      baseline: () =>
        tokensPerSecond(async () => {
          for (const product of products) await product();
        }),
    },
    runs,
  );
}

/** What is kept has been made in the first fifth. */
async function memory(): Promise<object> {
  const { learn } = startLearning();
  async function fifth() {
    const samples: NodeJS.MemoryUsage[] = [];
    for (let step = 1; step <= steps / 5; step++) {
      await learn();
      if (step % Math.ceil(steps / 100) !== 0) continue;
      globalThis.gc?.();
      samples.push(process.memoryUsage());
    }
    return {
      resident: median(samples.map(({ rss }) => rss)),
      // WebAssembly's memory, which holds all arrays, and next to nothing else.
      arrays: median(samples.map(({ external }) => external)),
    };
  }
  await fifth();
  const before = await fifth();
  await fifth();
  await fifth();
  return { before, after: await fifth() };
}

async function infer(): Promise<object> {
  const { loadModel } = (await import(join(ROOT, "dist", "sdk", "index.js"))) as typeof sdk;
  const folder = mkdtempSync(join(tmpdir(), "kit-bench-"));
  try {
    saveModel(join(folder, "model"), weights, { shape, promptStyle: "message" });
    const model = await loadModel(join(folder, "model"));
    const params = toParams(weights);
    const loss = jit(createLoss({ shape, rows, length, lora: null }));
    const figures = await alternate(
      {
        async ours() {
          let answered = 0;
          const ms = await time(async () => {
            ({ tokens: answered } = await model.infer({ prompt: PROMPT, maxTokens: steps }));
          });
          if (answered !== steps) throw new Error(`The answer ended after ${answered} tokens.`);
          return (answered / ms) * 1000;
        },
        baseline: () =>
          tokensPerSecond(async () => {
            const result = loss(tree.ref(params), {}, toArrays(batch));
            await blockUntilReady(result);
            result.dispose();
          }, 5),
      },
      runs,
    );
    await model.close();
    return figures;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function startLearning(): { learn: () => Promise<unknown> } {
  const options = { weightDecay: 0.01, maxGradNorm: 1 };
  const learner = createLearner(weights, {}, { shape, rows, length, lora: null }, options);
  let step = 0;
  return { learn: () => learner.learn(batch, ++step, RATE) };
}

async function tokensPerSecond(step: () => Promise<unknown>, times = steps): Promise<number> {
  const ms = await time(async () => {
    for (let i = 0; i < times; i++) await step();
  });
  return (tokens * times * 1000) / ms;
}

function randomBatch(): Batch {
  const random = createRandom(SEED, "batch");
  const bytes = () =>
    Int32Array.from({ length: tokens }, () => Math.floor(random.uniform() * BYTES));
  return {
    tokens: bytes(),
    targets: bytes(),
    learned: new Float32Array(tokens).fill(1),
    size: tokens,
  };
}
