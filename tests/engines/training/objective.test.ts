import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { resolveModel } from "../../../engines/families/modelSource.ts";
import { randomAdapter } from "../../../engines/lora/adapter.ts";
import type { PlanBackend } from "../../../engines/training/backend.ts";
import { train } from "../../../engines/training/train.ts";
import type { EngineEvent, EventData } from "../../../protocol/event.ts";
import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import { difference, numbers } from "../embedded/kernels/team.ts";
import { type Sizes, learnerOf } from "../embedded/learner.ts";
import { dataOf, tinyConfig } from "../embedded/run.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { TINY, tinySequences, tinyWeights } from "../embedded/tiny.ts";
import { EXACT_BACKENDS, PLAN_BACKENDS } from "./backends.ts";
import { learns } from "./preferences.ts";

const LORA = { r: 2, alpha: 4, targetModules: ["q_proj", "v_proj", "down_proj"] };
type Log = EventData["training.log"];

async function logsOf(
  planBackend: PlanBackend,
  changes: Partial<TrainConfig>,
  resumeFrom?: string,
) {
  const [events, directory]: [EngineEvent[], string] = [[], scratchDirectory()];
  const config = tinyConfig({ maxSteps: 8, saveSteps: 4, loggingSteps: 1, lora: LORA, ...changes });
  const source = resolveModel(config.model);
  if (source.kind === "hub") throw new Error("a shape is trained here");
  await train(config, directory, {
    source,
    planBackend,
    resumeFrom,
    onEvent: (event) => void events.push(event),
  });
  const logs = dataOf(events, "training.log").map(({ tokensPerSecond: _, ...log }) => log);
  return { logs, directory };
}

function figures(logs: Log[]): number[] {
  return logs.flatMap(({ loss, evalLoss = 0, metrics = {} }) =>
    [loss, evalLoss, ...Object.values(metrics)].map(Number),
  );
}

describe.each(PLAN_BACKENDS)("pairs on %s", (_, planBackend) => {
  test("begin at ln 2, become preferred, and log their metrics, on held-out rows too", async () => {
    const data = { ...learns("dpo"), evalSplit: 0.25, evalSteps: 4 };
    const { logs } = await logsOf(planBackend, { ...data, gradientAccumulationSteps: 2 });
    expect(logs[0]?.loss).toBeCloseTo(Math.LN2, 6);
    expect(Object.values(logs[0]?.metrics ?? {})).toEqual([0, 0, 0, 0]);
    const last = logs.at(-1);
    expect(last?.loss).toBeLessThan(Math.LN2 - 0.01);
    expect(last?.evalLoss).toBeLessThan(Math.LN2 - 0.01);
    const names = ["rewardsChosen", "rewardsRejected", "rewardsMargins", "rewardsAccuracies"];
    expect(Object.keys(last?.metrics ?? {})).toEqual([
      ...names,
      ...names.map((name) => `eval${name.replace("r", "R")}`),
    ]);
    expect(last?.metrics).toMatchObject({ rewardsAccuracies: 1, evalRewardsAccuracies: 1 });
  });
});

describe.each(EXACT_BACKENDS)("%s", (_, planBackend) => {
  test.each([
    ["pairs", "dpo", LORA],
    ["judged answers", "kto", LORA],
    ["pairs without an adapter", "dpo", undefined],
    ["judged answers without an adapter", "kto", undefined],
  ] as const)("goes on with %s to the same figures", async (_what, type, lora) => {
    const data = { ...learns(type), lora, loggingSteps: 3, evalSplit: 0.25, evalSteps: 3 };
    const whole = await logsOf(planBackend, data);
    const saved = join(whole.directory, "artifacts/step-4");
    const more = await logsOf(planBackend, data, saved);
    const rest = whole.logs.filter(({ step }) => step > 4);
    expect(more.logs).toEqual(rest);
    // An adapter's reference is its base.
    if (lora) return;
    // Without the earlier job's figures, they are computed from the model before the training.
    const reference = join(whole.directory, "reference.json");
    writeFileSync(reference, readFileSync(reference, "utf8").replaceAll(/\[.*?\]/g, "[]"));
    expect((await logsOf(planBackend, data, saved)).logs).toEqual(rest);
    rmSync(reference);
    expect((await logsOf(planBackend, data, saved)).logs).toEqual(rest);
  });
});

test.each([
  ["right answers", undefined, LORA],
  ["pairs", "dpo", LORA],
  ["judged answers", "kto", LORA],
  ["pairs without an adapter", "dpo", undefined],
  ["judged answers without an adapter", "kto", undefined],
] as const)("all backends log the same figures of %s", async (_what, type, lora) => {
  const data = { ...(type && learns(type)), lora };
  const [embedded, ...others] = await Promise.all(
    PLAN_BACKENDS.map(([, planBackend]) => logsOf(planBackend, data)),
  );
  for (const { logs } of others)
    expect(difference(figures(embedded!.logs), figures(logs))).toBeLessThan(1e-4);
});

describe("the embedded engine's learner", () => {
  const base = tinyWeights();
  const adapter = randomAdapter(LORA, TINY, 1);
  for (const { data } of Object.values(adapter)) data.set(numbers(data.length, 1));
  const sizes: Sizes = { rows: 6, length: 11, lora: LORA, adapter };
  const sequences = tinySequences([4, 9, 2, 11, 5, 7]);
  const examples = [0, 2, 4].map((from) => ({ sequences: sequences.slice(from, from + 2) }));
  const learner = () => learnerOf(base, sizes).learner;

  test("weighs by the log probabilities of each part's examples, in one part or in several", () => {
    const inParts = learnerOf(base, { ...sizes, limits: { tokens: 14, scores: 400 } }).learner;
    const gradientsOf = (of: ReturnType<typeof learner>) => {
      const seen: number[] = [];
      const starts: number[] = [];
      of.backpropagate(
        examples,
        (logProbs, from) => {
          starts.push(from);
          seen.push(...logProbs.flat().flatMap((one) => [...one]));
          return logProbs.map((two, i) => two.map((one) => one.map((value) => value - from - i)));
        },
        false,
      );
      const gradients = Object.values(of.gradients()).map(({ data }) => [...data]);
      return { starts, numbers: [seen, ...gradients] };
    };
    const [whole, parts] = [gradientsOf(learner()), gradientsOf(inParts)];
    expect([whole.starts, parts.starts]).toEqual([[0], [0, 1, 2]]);
    expect(whole.numbers[0]).toHaveLength(2 + 5 + 1 + 6 + 3 + 4);
    expect(difference(parts.numbers.flat(), whole.numbers.flat())).toBeLessThan(1e-4);
    expect(Math.max(...whole.numbers.slice(1).flat().map(Math.abs))).toBeGreaterThan(0.01);
  });

  test("gives an example the same log probabilities to the bit, whatever the batch has besides", () => {
    const together = learner().logProbs(examples, { usesAdapter: false });
    const alone = examples.flatMap((one) => learner().logProbs([one], { usesAdapter: false }));
    expect(alone).toEqual(together);
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
