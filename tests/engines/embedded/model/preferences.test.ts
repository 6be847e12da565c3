import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Example, createExamples } from "../../../../engines/examples/examples.ts";
import { adapterShapes } from "../../../../engines/lora/adapter.ts";
import { objectiveOf } from "../../../../engines/objectives/objectives.ts";
import { createReference } from "../../../../engines/training/reference.ts";
import {
  type StepContext,
  backpropagateStep,
  evaluate,
} from "../../../../engines/training/step.ts";
import type { DpoObjective, KtoObjective } from "../../../../protocol/objective.ts";
import { difference } from "../kernels/team.ts";
import { learnerOf } from "../learner.ts";
import { FAMILIES, savedModel, tokensOf, weightsOf } from "./madeWeights.ts";

/** The output of `reference/preferences.py`. */
interface Case {
  family: string;
  objective: DpoObjective | KtoObjective;
  lora: boolean;
  logs: { loss: number; gradNorm: number; metrics: Record<string, number> }[];
  evaluated: { loss: number; metrics: Record<string, number> };
  tensors: Record<string, number[]>;
}

const CASES = JSON.parse(
  readFileSync(new URL("./reference/preferences.json", import.meta.url), "utf8"),
) as Case[];
const [ROWS, HELD_OUT, BATCH, ACCUMULATION, STEPS] = [24, 6, 3, 2, 20];
const [RATE, STRIDE] = [1e-3, 16];
const LORA = { r: 2, alpha: 4, targetModules: ["q_proj", "v_proj", "down_proj"] };
const MOST = 64;

function examplesOf(first: number, count: number, type: "dpo" | "kto", vocabulary: number) {
  const examples = createExamples(vocabulary);
  const span = (name: string, length: number, isLearned: boolean) => ({
    tokens: Uint16Array.from(tokensOf(name, length, vocabulary)),
    isLearned,
  });
  for (let i = first; i < first + count; i++) {
    const prompt = span(`prompt ${i}`, 2 + (i % 5), false);
    const chosen = [prompt, span(`chosen ${i}`, 1 + ((i * 7) % 6), true)];
    const rejected = [prompt, span(`rejected ${i}`, 1 + ((i * 3) % 5), true)];
    if (type === "dpo") examples.addTruncated([chosen, rejected], MOST);
    else examples.addTruncated([chosen], MOST, (i * 5) % 7 >= 4);
  }
  return examples;
}

const meansOf = (metrics: Record<string, { sum: number; count: number }>) =>
  Object.fromEntries(
    Object.entries(metrics).flatMap(([name, { sum, count }]) =>
      count > 0 ? [[name, sum / count] as const] : [],
    ),
  );

/** The largest difference of two logs, which have the same figures. */
function apart(one: object, other: object): number {
  const [a, b] = [one, other].map((log) => Object.entries(log).toSorted(byName));
  expect(a!.map(([name]) => name)).toEqual(b!.map(([name]) => name));
  return difference(
    a!.map(([, value]) => Number(value)),
    b!.map(([, value]) => Number(value)),
  );
}

const byName = ([one]: [string, unknown], [other]: [string, unknown]) => (one < other ? -1 : 1);

describe.each(CASES)("$family, $objective, lora: $lora", ({ family, objective, lora, ...trl }) => {
  const { type } = objective;

  test("learns as TRL does, of rows of uneven lengths", async () => {
    const made = FAMILIES[family]!;
    const { shape, weights } = savedModel(made);
    const adapter = lora ? { lora: LORA, adapter: weightsOf(adapterShapes(LORA, shape)) } : {};
    const { learner } = learnerOf(weights, { rows: 8, length: 16, shape, ...adapter });
    const setOf = (first: number, count: number) =>
      examplesOf(first, count, type, made.config.vocab_size);
    const [training, heldOut] = [setOf(0, ROWS), setOf(ROWS, HELD_OUT)];
    const reference = createReference(learner);
    const learning: StepContext = {
      backend: learner,
      objective: objectiveOf({ objective }),
      reference,
      maxLength: MOST,
    };
    const asked = (examples: readonly Example[]) => [
      ...examples,
      ...(learning.objective.klExamples?.build(examples, MOST) ?? []),
    ];
    const all = batches(training, ROWS / BATCH);
    for (const batch of [...all, ...batches(heldOut, HELD_OUT / BATCH)]) {
      await reference.sumsOf(asked(batch));
    }
    for (let step = 1; step <= STEPS; step++) {
      const at = (step - 1) * ACCUMULATION;
      const taken = Array.from({ length: ACCUMULATION }, (_, i) => all[(at + i) % all.length]!);
      const outcome = await backpropagateStep(learning, taken);
      const { loss, gradNorm, metrics } = await outcome();
      const expected = trl.logs[step - 1]!;
      expect(Math.abs(loss - expected.loss)).toBeLessThan(2e-5);
      expect(Math.abs(gradNorm - expected.gradNorm)).toBeLessThan(2e-5 * (1 + gradNorm));
      expect(apart(meansOf(metrics), expected.metrics)).toBeLessThan(2e-5);
      learner.update(step, RATE);
    }
    const { evalLoss, metrics } = await evaluate(learning, heldOut, BATCH);
    expect(Math.abs(evalLoss - trl.evaluated.loss)).toBeLessThan(2e-5);
    expect(apart(meansOf(metrics), trl.evaluated.metrics)).toBeLessThan(2e-5);
    const trained = learner.weights();
    for (const [name, values] of Object.entries(trl.tensors)) {
      const own = [...trained[name]!.data].filter((_, i) => lora || i % STRIDE === 0);
      expect(difference(own, values), name).toBeLessThan(1e-5);
    }
  });
});

function batches(examples: ReturnType<typeof examplesOf>, count: number): Example[][] {
  return Array.from({ length: count }, (_, batch) =>
    Array.from({ length: BATCH }, (_, i) => examples.at(batch * BATCH + i)),
  );
}
