import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type * as backend from "../../../engines/embedded/train/backend.ts";
import { randomAdapter } from "../../../engines/lora/adapter.ts";
import type { Objective } from "../../../engines/objectives/objective.ts";
import { sft } from "../../../engines/objectives/sft.ts";
import type { PlanBackend } from "../../../engines/training/backend.ts";
import { train } from "../../../engines/training/train.ts";
import type { EngineEvent, EventData } from "../../../protocol/event.ts";
import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import { builtModule } from "../embedded/built.ts";
import { difference, numbers } from "../embedded/kernels/team.ts";
import { type Sizes, learnerOf } from "../embedded/learner.ts";
import { dataOf, tinyConfig } from "../embedded/run.ts";
import { jsonl, scratchDirectory, scratchFile } from "../embedded/scratch.ts";
import { TINY, tinySequences, tinyWeights } from "../embedded/tiny.ts";
import { pairs } from "./pairs.ts";
import { plainBackend } from "./plainBackend.ts";

const { embeddedBackend } = await builtModule<typeof backend>("train/backend.js");

const LORA = { r: 2, alpha: 4, targetModules: ["q_proj", "v_proj", "down_proj"] };
const BACKENDS: [string, PlanBackend][] = [
  ["the embedded engine", embeddedBackend({ threads: 1, invite() {} })],
  ["plain arrays", plainBackend],
];
const PAIRS = Array.from({ length: 12 }, (_, i) => ({
  ...{ prompt: `${i}?`, chosen: "yes".repeat(1 + (i % 3)), rejected: "no" },
}));

type Log = EventData["training.log"];

async function logsOf(
  planBackend: PlanBackend,
  objective: Objective,
  changes: Partial<TrainConfig>,
  resumeFrom?: string,
) {
  const [events, directory]: [EngineEvent[], string] = [[], scratchDirectory()];
  const config = tinyConfig({ maxSteps: 8, saveSteps: 4, loggingSteps: 1, lora: LORA, ...changes });
  const { model } = config;
  if (typeof model === "string") throw new Error("a shape is trained here");
  await train(config, directory, {
    ...{ source: { kind: "shape", name: "tiny", shape: model }, planBackend, objective },
    ...{ resumeFrom, onEvent: (event) => void events.push(event) },
  });
  const logs = dataOf(events, "training.log").map(({ tokensPerSecond: _, ...log }) => log);
  return { logs, directory };
}

const pairData = () => ({
  dataset: { type: "jsonl", path: scratchFile("pairs.jsonl", jsonl(PAIRS)) } as const,
});

function figures(logs: Log[]): number[] {
  return logs.flatMap(({ loss, evalLoss = 0, metrics = {} }) =>
    [loss, evalLoss, ...Object.values(metrics)].map(Number),
  );
}

describe.each(BACKENDS)("an objective of pairs on %s", (_, planBackend) => {
  test("begins at ln 2, learns to prefer, and logs its metrics, on held-out rows too", async () => {
    const data = { ...pairData(), evalSplit: 0.25, evalSteps: 4 };
    const { logs } = await logsOf(planBackend, pairs, { ...data, gradientAccumulationSteps: 2 });
    expect(logs[0]?.loss).toBeCloseTo(Math.LN2, 6);
    expect(logs[0]?.metrics).toEqual({ rewardsMargins: 0, rewardsAccuracies: 0 });
    const last = logs.at(-1);
    expect(last?.loss).toBeLessThan(Math.LN2 - 0.01);
    expect(last?.evalLoss).toBeLessThan(Math.LN2 - 0.01);
    expect(Object.keys(last?.metrics ?? {})).toEqual([
      ...["rewardsMargins", "rewardsAccuracies", "evalRewardsMargins", "evalRewardsAccuracies"],
    ]);
    for (const value of Object.values(last?.metrics ?? {})) expect(value).toBeGreaterThan(0);
  });

  test("goes on from a checkpoint to the same figures, those between two logs too", async () => {
    const data = { ...pairData(), loggingSteps: 3 };
    const whole = await logsOf(planBackend, pairs, data);
    const saved = join(whole.directory, "artifacts/step-4");
    const more = await logsOf(planBackend, pairs, data, saved);
    expect(more.logs).toEqual(whole.logs.filter(({ step }) => step > 4));
  });
});

test("both backends log the same figures", async () => {
  const data = pairData();
  const [embedded, plain] = await Promise.all(
    BACKENDS.map(([, planBackend]) => logsOf(planBackend, pairs, data)),
  );
  expect(difference(figures(embedded!.logs), figures(plain!.logs))).toBeLessThan(1e-4);
  const texts = await Promise.all(BACKENDS.map(([, planBackend]) => logsOf(planBackend, sft, {})));
  expect(
    difference(...(texts.map(({ logs }) => figures(logs)) as [number[], number[]])),
  ).toBeLessThan(1e-4);
});

describe("the embedded engine's learner", () => {
  const base = tinyWeights();
  const adapter = randomAdapter(LORA, TINY, 1);
  for (const { data } of Object.values(adapter)) data.set(numbers(data.length, 1));
  const sizes: Sizes = { rows: 6, length: 11, lora: LORA, adapter };
  const sequences = tinySequences([4, 9, 2, 11, 5, 7]);
  const examples = [0, 2, 4].map((from) => ({ sequences: sequences.slice(from, from + 2) }));
  const learner = () => learnerOf(base, sizes).learner;

  test("weighs by the log probabilities of the whole batch, in one part or in several", () => {
    const inParts = learnerOf(base, { ...sizes, limits: { tokens: 14, squares: 400 } }).learner;
    const gradientsOf = (of: ReturnType<typeof learner>) => {
      let seen: number[] = [];
      of.backpropagate(
        examples,
        (logProbs) => {
          seen = logProbs.flat().flatMap((one) => [...one]);
          const mean = seen.reduce((sum, one) => sum + one) / seen.length;
          return logProbs.map((two) => two.map((one) => one.map((value) => value - mean)));
        },
        false,
      );
      return [seen, ...Object.values(of.gradients()).map(({ data }) => [...data])];
    };
    const [whole, parts] = [gradientsOf(learner()), gradientsOf(inParts)];
    expect(whole[0]).toHaveLength(2 + 5 + 1 + 6 + 3 + 4);
    expect(difference(parts.flat(), whole.flat())).toBeLessThan(1e-4);
    expect(Math.max(...whole.slice(1).flat().map(Math.abs))).toBeGreaterThan(0.01);
  });

  test("gives the same gradients for a weight and for a function that answers it", () => {
    const [one, other] = [learner(), learner()];
    one.backpropagate(examples, 0.25, false);
    const weigh = (logProbs: readonly (readonly Float32Array[])[]) =>
      logProbs.map((two) => two.map((of) => of.map(() => 0.25)));
    other.backpropagate(examples, weigh, false);
    expect(other.gradients()).toEqual(one.gradients());
    expect(other.gradNorm()).toBe(one.gradNorm());
  });

  test("turns its adapter off, and then is the base", () => {
    const off = learner().logProbs(examples, { usesAdapter: false });
    expect(off).toEqual(
      learnerOf(base, { rows: 6, length: 11 }).learner.logProbs(examples, { usesAdapter: true }),
    );
    expect(off).not.toEqual(learner().logProbs(examples, { usesAdapter: true }));
  });

  test("has no gradient of a batch without anything to learn, not that of the batch before", () => {
    const some = learner();
    some.backpropagate(examples, 1, false);
    const nothing = { tokens: Uint16Array.of(1, 2), learned: new Uint8Array(2) };
    expect(some.backpropagate([{ sequences: [nothing] }], 1, false)).toBe(0);
    expect(some.gradNorm()).toBe(0);
  });
});
