import type { Example, Sequence } from "../../../engines/examples/examples.ts";
import { readAll } from "../../../engines/modelFiles/tensors.ts";
import { type Weights, widened } from "../../../engines/modelFiles/weights.ts";
import {
  type Backend,
  type InitialState,
  type LogProbs,
  type PlanBackend,
  ADAMW,
  clipScale,
} from "../../../engines/training/backend.ts";
import type { Preparation } from "../../../engines/training/preparation.ts";
import { type Parameter, runPlainly, softmax } from "./plainLayers.ts";

/** A backend on plain arrays: one sequence at a time, each answer a promise, each result late. */
export const plainBackend: PlanBackend = (preparation) => ({
  memoryBytes: 0,
  start: (initial) => startPlainly(preparation, initial),
});

function startPlainly(
  { config, start }: Preparation,
  { trainable, frozen, moments }: InitialState,
): Backend {
  const { lora, weightDecay, maxGradNorm } = config;
  const scale = lora ? lora.alpha / lora.r : 0;

  const base = readAll(frozen);
  const names = Object.keys(trainable);
  const gradients = Object.fromEntries(
    names.map((name) => [name, new Float64Array(trainable[name]!.data.length)]),
  );
  const [first, second] = [moments?.first ?? zeros(trainable), moments?.second ?? zeros(trainable)];

  function parameterOf(usesAdapter: boolean) {
    return (name: string): Parameter | undefined => {
      const own = trainable[name];
      if (own) return usesAdapter || !lora ? { data: own.data, grad: gradients[name] } : undefined;
      return base[name] && { data: widened(base[name].data) };
    };
  }

  /** A sequence's probabilities after each position whose next token is learned. */
  function run({ tokens, learned }: Sequence, usesAdapter = true) {
    const targets = [...tokens.keys()].filter((at) => learned[at] === 1);
    const { logits, backward } = runPlainly(
      start.shape,
      [...tokens.subarray(0, -1)],
      targets.map((at) => at - 1),
      { parameter: parameterOf(usesAdapter), scale },
    );
    const rows = logits.map(softmax);
    const next = targets.map((at) => tokens[at]!);
    return { rows, next, backward, logProbs: rows.map((row, i) => Math.log(row[next[i]!]!)) };
  }

  function logProbsOf(examples: readonly Example[], usesAdapter: boolean): LogProbs {
    return examples.map(({ sequences }) =>
      sequences.map((one) => Float32Array.from(run(one, usesAdapter).logProbs)),
    );
  }

  let isSlow = true;
  const norm = () =>
    Math.sqrt(
      names.reduce((all, name) => gradients[name]!.reduce((sum, g) => sum + g * g, all), 0),
    );

  return {
    logProbs: async (examples, { usesAdapter }) => {
      await tick();
      return logProbsOf(examples, usesAdapter);
    },
    async backpropagate(examples, weigh, accumulate) {
      await tick();
      if (!accumulate) names.forEach((name) => gradients[name]!.fill(0));
      const weights = typeof weigh === "number" ? undefined : weigh(logProbsOf(examples, true), 0);
      let sum = 0;
      for (const [e, { sequences }] of examples.entries()) {
        for (const [s, sequence] of sequences.entries()) {
          const { rows, next, logProbs, backward } = run(sequence);
          const counts = next.map((_, i) => (weights ? weights[e]![s]![i]! : Number(weigh)));
          sum -= logProbs.reduce((all, value, i) => all + counts[i]! * value, 0);
          backward(
            rows.map((row, i) =>
              row.map((p, token) => counts[i]! * (p - (token === next[i] ? 1 : 0))),
            ),
          );
        }
      }
      return late(sum, 1);
    },
    gradNorm: async () => {
      await tick();
      // Every other step's comes after the next one's.
      isSlow = !isSlow;
      return late(norm(), isSlow ? 9 : 1);
    },
    async update(step, rate) {
      await tick();
      const { beta1, beta2, epsilon } = ADAMW;
      const factor = clipScale(norm(), maxGradNorm);
      for (const name of names) {
        const { shape, data } = trainable[name]!;
        const [m, v, decay] = [first[name]!.data, second[name]!.data, weightDecay];
        for (let i = 0; i < data.length; i++) {
          const g = factor * gradients[name]![i]!;
          m[i] = beta1 * m[i]! + (1 - beta1) * g;
          v[i] = beta2 * v[i]! + (1 - beta2) * g * g;
          if (shape.length > 1) data[i]! *= 1 - rate * decay;
          const root = Math.sqrt(v[i]! / (1 - beta2 ** step)) + epsilon;
          data[i]! -= (rate * (m[i]! / (1 - beta1 ** step))) / root;
        }
      }
    },
    async setWeights(weights) {
      await tick();
      for (const name of names) trainable[name]!.data.set(weights[name]!.data);
    },
    weights: () => Promise.resolve(trainable),
    moments: () => Promise.resolve({ first, second }),
  };
}

function zeros(weights: Weights): Weights {
  return Object.fromEntries(
    Object.entries(weights).map(([name, { shape, data }]) => [
      name,
      { shape, data: new Float32Array(data.length) },
    ]),
  );
}

/** As what a GPU still computes. */
function late(value: number, ticks: number) {
  return async () => {
    for (let i = 0; i < ticks; i++) await tick();
    return value;
  };
}

/** As a GPU's or another process's answer: later. */
function tick(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
