// Work on an open model: for each line of input, measures and prints a line of JSON.
//   openModel.js learn <sizes>  a step on given tokens: its time in ms (on one thread processor time) and
//                               its loss
//   openModel.js mixed <sizes>  the same for consecutive steps over rows of these lengths
//   openModel.js prefer <sizes> the same for a step of DPO, on pairs
//   openModel.js train <sizes>  a training run on texts: to its first loss, then to its end
//   openModel.js ask <sizes>    rows answered as in an evaluation, and one by one: the times in ms
// <sizes> is `OpenModelSizes` as JSON.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { openCheckpoint } from "../../engines/checkpoint/checkpoint.ts";
import type * as embedded from "../../engines/embedded/index.ts";
import type { BatchLimits } from "../../engines/embedded/ops/operation.ts";
import type { TrainingSizes } from "../../engines/embedded/step/trainingPlan.ts";
import type { Example } from "../../engines/examples/examples.ts";
import { randomAdapter } from "../../engines/lora/adapter.ts";
import { bfloat16Of } from "../../engines/modelFiles/tensors.ts";
import { objectiveOf } from "../../engines/objectives/objectives.ts";
import { createReference } from "../../engines/training/reference.ts";
import { backpropagateStep } from "../../engines/training/step.ts";
import type * as sdk from "../../sdk/index.ts";
import { answerRows } from "../../sdk/metrics/answerRows.ts";
import {
  OPTIONS,
  backpropagate,
  batchLimits,
  createTeam,
  limitsOf,
  planTraining,
} from "../engine.ts";
import { type OpenModelSizes, LEARNED_SHARE } from "../openModel.ts";
import { OPEN_LORA, OPEN_SEED } from "../openShape.ts";
import { built } from "../paths.ts";
import { now, time } from "../statistics.ts";

const RATE = 2e-4;
const STEPS = 2;
/** Its answers are long. */
const PROMPT = "Tell me a long story about a quick brown fox.";
/** Offset between two mixed rows' tokens, which may overlap. */
const ROW_STRIDE = 997;

const [mode, json = "{}"] = process.argv.slice(2);
const sizes = JSON.parse(json) as OpenModelSizes;
const { rows, length, threads } = sizes;
process.env["KIT_THREADS"] = String(threads);

const MODES: Record<string, () => Promise<() => unknown>> = {
  learn,
  mixed,
  prefer,
  train,
  ask,
};
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
  const nextBatch = createBatches();
  const step = createSteps(() => limitsOf(rows, length));
  return Promise.resolve(() => step([nextBatch()]));
}

/** Each pair is new, so that its reference log probabilities are computed. */
function prefer() {
  const nextBatch = createBatches(2 * rows);
  const { learner } = createLearning(() => limitsOf(2 * rows, length));
  const objective = objectiveOf({
    objective: { type: "dpo", beta: 0.1, labelSmoothing: 0, sftWeight: 0 },
  });
  let step = 0;
  return Promise.resolve(async () => {
    const sequences = nextBatch().flatMap((example) => example.sequences);
    const pairs = Array.from({ length: rows }, (_, i) => ({
      sequences: sequences.slice(2 * i, 2 * i + 2),
    }));
    const start = now(threads);
    const reference = createReference(learner);
    const learning = { backend: learner, objective, reference, maxLength: length + 1 };
    const outcome = await backpropagateStep(learning, [pairs]);
    learner.update(++step, RATE);
    const { loss } = await outcome();
    return { ms: now(threads) - start, loss };
  });
}

/** Trains on all rows once, `rows` per step. */
function mixed() {
  const lengths = sizes.lengths ?? [];
  const all = tokensOfFile();
  const examples = lengths.map((length, i) => {
    const tokens = all.subarray(i * ROW_STRIDE, i * ROW_STRIDE + length + 1);
    const learned = new Uint8Array(length + 1);
    learned.fill(1, length + 1 - Math.ceil(length * LEARNED_SHARE));
    return { sequences: [{ tokens, learned }] };
  });
  const steps = Array.from({ length: Math.ceil(lengths.length / rows) }, (_, i) =>
    examples.slice(i * rows, (i + 1) * rows),
  );
  const training = {
    length: lengths.length,
    longestSequence: Math.max(...lengths) + 1,
    largestExample: Math.max(...lengths),
    predictedTokens: lengths.reduce((sum, length) => sum + length, 0),
    at: (index: number) => examples[index]!,
    lengthsAt: (index: number) => Uint32Array.of(lengths[index]! + 1),
    rowAt: (index: number) => index,
  };
  const batches = { training, evaluation: undefined, rows, seed: OPEN_SEED, count: steps.length };
  const step = createSteps((of) => batchLimits(batches, of));
  return Promise.resolve(() => step(steps));
}

type LimitsOf = (sizes: Omit<TrainingSizes, "limits" | "threads">) => BatchLimits;

function createLearning(limitsOf: LimitsOf) {
  const { shape, weights } = openCheckpoint(sizes.model);
  const lora = OPEN_LORA;
  const of = { shape, bfloat16: bfloat16Of(weights), lora, options: OPTIONS };
  const plan = planTraining({ ...of, threads, limits: limitsOf(of) });
  const adapter = randomAdapter(lora, shape, OPEN_SEED);
  return { learner: createTeam(plan, adapter, weights, sizes.simd) };
}

/** Takes one step per batch. */
function createSteps(limitsOf: LimitsOf) {
  const { learner } = createLearning(limitsOf);
  let step = 0;
  return (batches: Example[][]) => {
    const start = now(threads);
    let loss = NaN;
    for (const batch of batches) {
      loss = backpropagate(learner, batch);
      learner.update(++step, RATE);
    }
    return { ms: now(threads) - start, loss };
  };
}

function tokensOfFile(): Uint32Array {
  const bytes = readFileSync(sizes.tokens);
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
}

/** Successive batches of the file's tokens; starts again at its end. */
function createBatches(count = rows): () => Example[] {
  const all = tokensOfFile();
  const learned = new Uint8Array(length + 1).fill(1, 1);
  let from = 0;
  return () => {
    if (from + count * (length + 1) > all.length) from = 0;
    return Array.from({ length: count }, () => {
      const tokens = all.subarray(from, from + length + 1);
      from += length + 1;
      return { sequences: [{ tokens, learned }] };
    });
  };
}

async function train() {
  const { createEmbeddedEngine } = await built<typeof embedded>("engines/embedded/index.js");
  const directory = mkdtempSync(join(tmpdir(), "kit-bench-"));
  process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
  const engine = createEmbeddedEngine();
  const config = engine.prepare({
    model: sizes.model,
    dataset: { type: "jsonl", path: sizes.texts },
    lora: OPEN_LORA,
    batchSize: rows,
    maxLength: length + 1,
    maxSteps: STEPS,
  });
  let training: Promise<void> | undefined;
  /** Resolves at the first loss, then at the end. */
  return async () => {
    if (training) return training.then(() => ({}));
    return new Promise((resolve, reject) => {
      training = engine.train({
        config,
        directory,
        signal: new AbortController().signal,
        onEvent({ event, data }) {
          if (event === "training.log") resolve({ loss: data.loss });
        },
      });
      training.catch(reject);
    });
  };
}

async function ask() {
  const { loadModel } = await built<typeof sdk>("sdk/index.js");
  const model = await loadModel(sizes.model);
  const dataset = Array.from({ length: rows }, (_, n) => ({
    prompt: `${PROMPT} ${n}`,
    completion: "jumps",
  }));
  const options = { maxTokens: length, signal: new AbortController().signal };
  const each = async () => {
    for (const row of dataset) await answerRows(model, [row], options);
  };
  return async () => ({
    together: await time(() => answerRows(model, dataset, options)),
    each: await time(each),
  });
}
