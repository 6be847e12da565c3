// The engine's work and its matrix multiplications alone, alternating in one process.
//   engine.js train <sizes>   tokens per second: a step, against its matmuls alone
//   engine.js memory <sizes>  bytes in the second and in the last fifth of the steps; wants node --expose-gc
//   engine.js infer <sizes>   tokens per second: an answer, against a token's matmuls alone
// <sizes> is `EngineSizes` as JSON. Prints JSON.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCheckpoint, saveModel } from "../../engines/checkpoint/checkpoint.ts";
import { randomWeights } from "../../engines/families/randomWeights.ts";
import { weightShapes } from "../../engines/families/tensorShapes.ts";
import type * as sdk from "../../sdk/index.ts";
import { type EngineSizes, shapeOf, startLearning } from "../engine.ts";
import { REAL_WEIGHTS, ROOT } from "../paths.ts";
import { singleThreadKernels, stepMatmuls } from "../products.ts";
import { alternate, median, time } from "../statistics.ts";

const SEED = 1;
const PROMPT = "Tell me a long story about the 7th of March, 1998.";
/** Elements of a matrix that leave room for the vectors. */
const MAX_NUMBERS = 2 ** 23;

const [mode, json = "{}"] = process.argv.slice(2);
const sizes = JSON.parse(json) as EngineSizes;
const { rows, length, steps, runs } = sizes;
/** Undefined for Kit's own shapes, which have random weights. */
const directory = sizes.model === REAL_WEIGHTS ? REAL_WEIGHTS : undefined;
const shape = directory === undefined ? shapeOf(sizes.model) : openCheckpoint(directory).shape;
const tokens = rows * length;

const MODES: Record<string, () => Promise<object>> = { train, memory, infer };
const work = MODES[mode ?? ""];
if (!work) throw new Error(`There is no mode ${mode}.`);
console.log(JSON.stringify(await work()));
process.exit(0);

function train(): Promise<object> {
  const { learn } = startLearning(sizes);
  const matmuls = stepMatmuls(shape, rows, length);
  return alternate(
    { ours: () => tokensPerSecond(learn), baseline: () => tokensPerSecond(matmuls) },
    runs,
  );
}

/** Everything that stays in memory was allocated in the first fifth. */
async function memory(): Promise<object> {
  const { learn } = startLearning(sizes);
  function fifth() {
    const samples: NodeJS.MemoryUsage[] = [];
    for (let step = 1; step <= steps / 5; step++) {
      learn();
      if (step % Math.ceil(steps / 100) !== 0) continue;
      globalThis.gc?.();
      samples.push(process.memoryUsage());
    }
    return {
      resident: median(samples.map(({ rss }) => rss)),
      // WebAssembly's memory, which holds all arrays and little else.
      arrays: median(samples.map(({ external }) => external)),
    };
  }
  fifth();
  const before = fifth();
  fifth();
  fifth();
  return Promise.resolve({ before, after: fifth() });
}

async function infer(): Promise<object> {
  const { loadModel } = (await import(join(ROOT, "dist", "sdk", "index.js"))) as typeof sdk;
  const folder = mkdtempSync(join(tmpdir(), "kit-bench-"));
  try {
    const model = await loadModel(directory ?? makeRandom(join(folder, "model")));
    const matmuls = tokenMatmuls();
    const values = await alternate(
      {
        async ours() {
          let answered = 0;
          const ms = await time(async () => {
            ({ tokens: answered } = await model.infer({ prompt: PROMPT, maxTokens: steps }));
          });
          if (answered !== steps) throw new Error(`The answer ended after ${answered} tokens.`);
          return (answered / ms) * 1000;
        },
        async baseline() {
          const ms = await time(() => {
            for (let i = 0; i < steps; i++) matmuls();
          });
          return (steps / ms) * 1000;
        },
      },
      runs,
    );
    await model.close();
    return values;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function makeRandom(folder: string): string {
  saveModel(folder, randomWeights(shape, SEED), { shape, promptStyle: "message" });
  return folder;
}

/** A token's matmuls: each matrix of the model, in parts that fit, times one vector. */
function tokenMatmuls(): () => void {
  const { kernels, data } = singleThreadKernels();
  const parts: [number, number][] = [];
  for (const [out = 0, inner] of Object.values(weightShapes(shape))) {
    if (inner === undefined) continue;
    const maxRows = Math.floor(MAX_NUMBERS / inner);
    for (let row = 0; row < out; row += maxRows) parts.push([Math.min(maxRows, out - row), inner]);
  }
  return () => {
    for (const [out, inner] of parts) {
      const x = data + out * inner * 4;
      kernels.panelProduct(1, out, inner, data, false, 64, x, inner, 0, x + inner * 4, out);
      kernels.barrier();
    }
  };
}

async function tokensPerSecond(step: () => unknown): Promise<number> {
  const ms = await time(() => {
    for (let i = 0; i < steps; i++) step();
  });
  return (tokens * steps * 1000) / ms;
}
