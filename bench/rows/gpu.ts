import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type * as checkpoint from "../../engines/checkpoint/checkpoint.ts";
import { createRandom } from "../../engines/dataset/random.ts";
import { dimensionsOf } from "../../engines/families/dimensions.ts";
import { randomWeights } from "../../engines/families/randomWeights.ts";
import type * as python from "../../engines/python/index.ts";
import type { ModelShape } from "../../protocol/trainConfig.ts";
import { ratioAtLeast } from "../goals.ts";
import { benchPython } from "../gpu.ts";
import { ROOT, built } from "../paths.ts";
import type { Row } from "../row.ts";
import type { Scope } from "../scope.ts";
import { alternate } from "../statistics.ts";

interface Sizes {
  shape: ModelShape;
  /** Rows per batch. */
  rows: number;
  /** Tokens per row. */
  length: number;
  /** Untimed steps, and timed ones, a multiple of them. */
  warmup: number;
  steps: number;
  runs: number;
}

/** 113 million parameters. */
const SHAPE = { layers: 16, heads: 12, width: 768, context: 1024 };
const FULL: Sizes = { shape: SHAPE, rows: 8, length: 1024, warmup: 20, steps: 100, runs: 3 };
const TINY: Sizes = {
  shape: { layers: 1, heads: 2, width: 16, context: 32 },
  rows: 2,
  length: 16,
  warmup: 2,
  steps: 4,
  runs: 1,
};
const SEED = 1;
const LETTER_A = 97;

/** Input of both: a model with random weights, and texts of random letters. */
interface Task extends Sizes {
  model: string;
  dataset: string;
}

export const gpu: Row = {
  number: 23,
  work: "steps with `engine: python()` on a GPU",
  baseline: "a bare `transformers.Trainer`",
  async measure(scope) {
    const sizes = scope.pick({ full: FULL, quick: { ...FULL, runs: 1 }, tiny: TINY });
    const folder = scope.folder();
    const task = { ...sizes, model: join(folder, "model"), dataset: join(folder, "rows.jsonl") };
    const { saveModel } = await built<typeof checkpoint>("engines/checkpoint/checkpoint.js");
    const shape = dimensionsOf(task.shape);
    saveModel(task.model, randomWeights(shape, SEED), { shape, promptStyle: "text" });
    writeFileSync(task.dataset, randomTexts(task));
    const both = { ours: () => ourSpeed(task, scope), baseline: () => bareSpeed(task, scope) };
    const goal = ratioAtLeast(0.97);
    return [{ ...(await alternate(both, sizes.runs)), unit: "steps/s", goal }];
  },
};

/** Rows of `length` tokens, begin and end tokens included. */
function randomTexts({ rows, length }: Sizes): string {
  const random = createRandom(SEED, "texts");
  const letter = () => String.fromCharCode(LETTER_A + Math.floor(random.uniform() * 26));
  const row = () => Array.from({ length: length - 2 }, letter).join("");
  return Array.from({ length: 8 * rows }, () => JSON.stringify({ text: row() })).join("\n");
}

/** Speed from the log of the last warm-up step to that of the last step. */
async function ourSpeed(task: Task, scope: Scope): Promise<number> {
  const { createPythonEngine } = await built<typeof python>("engines/python/index.js");
  const engine = createPythonEngine({ path: benchPython() });
  const last = task.warmup + task.steps;
  const config = engine.prepare({
    model: task.model,
    dataset: { type: "jsonl", path: task.dataset },
    batchSize: task.rows,
    maxLength: task.length,
    maxSteps: last,
    saveSteps: last,
    loggingSteps: task.warmup,
    learningRate: 1e-4,
  });
  const times = new Map<number, number>();
  await engine.train({
    config,
    directory: scope.folder(),
    signal: new AbortController().signal,
    onEvent({ event, data }) {
      if (event === "training.log") times.set(data.step, performance.now());
    },
  });
  const [from = NaN, to = NaN] = [times.get(task.warmup), times.get(last)];
  return (1000 * task.steps) / (to - from);
}

async function bareSpeed(task: Task, scope: Scope): Promise<number> {
  const script = join(ROOT, "bench", "python", "train.py");
  const bare = scope.start(benchPython(), [script, JSON.stringify(task)]);
  const ended = once(bare, "close");
  const printed = bare.stdout ? await text(bare.stdout) : "";
  await ended;
  return Number(printed.trim().split("\n").at(-1) || NaN);
}
