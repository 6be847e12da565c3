import { MessageChannel, Worker } from "node:worker_threads";
import { expect, onTestFinished, vi } from "vitest";
import type * as decoding from "../../../engines/embedded/infer/decoder.ts";
import { MAX_TOKENS } from "../../../engines/embedded/infer/decoderPlan.ts";
import type * as modules from "../../../engines/embedded/kernels/module.ts";
import type * as attention from "../../../engines/embedded/ops/attention.ts";
import type { BatchLimits } from "../../../engines/embedded/ops/operation.ts";
import type * as learning from "../../../engines/embedded/step/learner.ts";
import type * as planning from "../../../engines/embedded/step/trainingPlan.ts";
import type { Sequence } from "../../../engines/examples/examples.ts";
import type { Dimensions } from "../../../engines/families/dimensions.ts";
import { HEAD } from "../../../engines/families/projections.ts";
import { bfloat16Of, inMemoryTensors } from "../../../engines/modelFiles/tensors.ts";
import { type StoredWeights, type Weights, widen } from "../../../engines/modelFiles/weights.ts";
import type { Recompute } from "../../../engines/training/segments.ts";
import type { LoraConfig } from "../../../protocol/trainConfig.ts";
import { PATIENCE_MS } from "../../patience.ts";
import { builtModule } from "./built.ts";
import { TINY, UNTIED } from "./tiny.ts";

const { createDecoder } = await builtModule<typeof decoding>("infer/decoder.js");
const { compileKernels } = await builtModule<typeof modules>("kernels/module.js");
const { createLearner } = await builtModule<typeof learning>("step/learner.js");
const { scoreCount } = await builtModule<typeof attention>("ops/attention.js");
const { planTraining } = await builtModule<typeof planning>("step/trainingPlan.js");

const HELPER = new URL("../../../dist/engines/embedded/step/helperWorker.js", import.meta.url);
/** Where a team counts its ready helpers, among its words. */
const READY = 16;
const WAIT = { timeout: PATIENCE_MS, interval: 5 };
const OPTIONS = { weightDecay: 0.01, maxGradNorm: 1 };

export interface Sizes {
  rows: number;
  /** Tokens that are read of a row, at most. */
  length: number;
  /** Default: as much as so many rows of this length have. */
  limits?: Partial<BatchLimits>;
  lora?: LoraConfig;
  adapter?: Weights;
  recompute?: Recompute;
  /** Default: the tiny model that has these weights. */
  shape?: Dimensions;
}

/** A tiny model in training on this thread alone; with `lora`, its adapter. */
export function learnerOf(weights: StoredWeights, sizes: Sizes): SequenceLearner {
  return ofSequences(createLearner(planOf(weights, sizes), initialOf(weights, sizes)));
}

/** What it starts with. */
export function initialOf(weights: StoredWeights, { adapter }: Pick<Sizes, "adapter">) {
  const frozen = inMemoryTensors(adapter ? weights : {});
  return { trainable: adapter ?? widen(weights), frozen, moments: undefined };
}

export type SequenceLearner = ReturnType<typeof ofSequences>;

/** A learner of sequences that each are an example, by the mean loss of the learned tokens. */
export function ofSequences(learner: learning.Learner) {
  const examplesOf = (batch: readonly Sequence[]) => batch.map((one) => ({ sequences: [one] }));
  function backpropagate(batches: readonly Sequence[][]) {
    const weight = 1 / learnedCount(batches.flat());
    const losses = batches.map((batch, i) =>
      learner.backpropagate(examplesOf(batch), weight, i > 0),
    );
    return { loss: losses.reduce((sum, loss) => sum + loss), gradNorm: learner.gradNorm() };
  }
  return {
    learner,
    backpropagate,
    update: learner.update,
    moments: learner.moments,
    /** The loss of a batch and a copy of its gradients. */
    gradients(batch: readonly Sequence[]) {
      const { loss } = backpropagate([[...batch]]);
      const gradients = learner.gradients();
      for (const tensor of Object.values(gradients)) tensor.data = tensor.data.slice();
      return { loss, gradients };
    },
    measure(batch: readonly Sequence[]) {
      const logProbs = learner.logProbs(examplesOf(batch), { usesAdapter: true }).flat();
      const sum = -logProbs.reduce((all, of) => of.reduce((a, b) => a + b, all), 0);
      return { sum, count: learnedCount(batch) };
    },
  };
}

function learnedCount(batch: readonly Sequence[]): number {
  return batch.reduce((sum, { learned }) => learned.reduce((a, b) => a + b, sum), 0);
}

/** The same on so many threads, once all have come. */
export async function learnerOnThreads(
  threads: number,
  weights: StoredWeights,
  sizes: Sizes,
): Promise<SequenceLearner> {
  const plan = planOf(weights, sizes, threads);
  const invited = inviting(plan);
  const learner = createLearner(plan, initialOf(weights, sizes), invited);
  await invited.allHere();
  return ofSequences(learner);
}

/** Starts the helper threads of a training, which end with the test. */
export function inviting({ team: { words, threads } }: planning.TrainingPlan) {
  const helpers = Array.from({ length: threads - 1 }, () => {
    const { port1, port2 } = new MessageChannel();
    const helper = new Worker(HELPER, { execArgv: [] });
    helper.postMessage(port2, [port2]);
    return { helper, port: port1 };
  });
  onTestFinished(async () => {
    await Promise.all(helpers.map(({ helper }) => helper.terminate()));
  });
  let memory: WebAssembly.Memory | undefined;
  return {
    initWorkers(seat: learning.TrainingWorkerInit) {
      memory = seat.memory;
      for (const { port } of helpers) port.postMessage(seat);
    },
    /** Waits until every helper is in the count of those that are ready; answers the memory. */
    async allHere() {
      if (!memory) throw new Error("nobody was invited");
      const team = new Int32Array(memory.buffer, words);
      await vi.waitFor(() => expect(Atomics.load(team, READY)).toBe(threads - 1), WAIT);
      return memory;
    },
  };
}

/** The memory of that training. */
export function planOf(weights: StoredWeights, sizes: Sizes, threads = 1): planning.TrainingPlan {
  const { lora, shape = shapeOf(weights), recompute } = sizes;
  const model = { shape, bfloat16: bfloat16Of(inMemoryTensors(weights)) };
  return planTraining({
    ...model,
    limits: limitsOf(sizes),
    lora,
    ...(recompute !== undefined && { recompute }),
    threads,
    options: OPTIONS,
  });
}

/** What rows of one length have. */
export function limitsOf({ rows, length, limits }: Sizes): BatchLimits {
  const tokens = rows * length;
  return {
    tokens,
    selected: tokens,
    sequences: rows,
    longest: length,
    scores: rows * scoreCount(length),
    ...limits,
  };
}

/** Reads tokens one after another, remembering keys and values. */
export interface Reading {
  /** Reads more tokens; answers the logits [vocabulary] after the last of them. */
  read: (tokens: ArrayLike<number>) => Float32Array;
}

/** Starts reading with a tiny model. */
export function readingOf(weights: StoredWeights, shape = shapeOf(weights)): Reading {
  return readingBy(createDecoder(compileKernels(), shape, inMemoryTensors(weights)));
}

/** Starts a sequence of a decoder's. */
export function readingBy(decoder: decoding.Decoder): Reading {
  const sequence = decoder.begin([]);
  return {
    read(tokens) {
      let logits = new Float32Array();
      for (let from = 0; from < tokens.length; from += MAX_TOKENS) {
        const some = Array.from(tokens).slice(from, from + MAX_TOKENS);
        expect(sequence.grow(some.length)).toBe(true);
        const [[next] = []] = decoder.step([{ sequence, tokens: some, wanted: 1 }]);
        logits = next?.logits.slice() ?? logits;
      }
      return logits;
    },
  };
}

function shapeOf(weights: StoredWeights): Dimensions {
  return HEAD in weights ? UNTIED : TINY;
}

/** The logits after each token, [token][vocabulary], read one by one. */
export function logitsOf(
  weights: StoredWeights,
  tokens: ArrayLike<number>,
  shape?: Dimensions,
): number[][] {
  const { read } = readingOf(weights, shape);
  return Array.from(tokens, (token) => [...read([token])]);
}
