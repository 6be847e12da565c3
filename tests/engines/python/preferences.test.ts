import { cpSync, mkdirSync, readFileSync, readdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LABELLED_FORMAT } from "../../../engines/dataset/labelledAnswer.ts";
import { PAIR_FORMAT } from "../../../engines/dataset/pair.ts";
import type { Engine } from "../../../protocol/engine.ts";
import type { EngineEvent } from "../../../protocol/event.ts";
import type { TrainingOptions } from "../../../protocol/trainConfig.ts";
import { startHub } from "../../hub/server.ts";
import { createEmbeddedEngine } from "../embedded/built.ts";
import { tensorReader } from "../embedded/llama.ts";
import { canonical } from "../embedded/scratch.ts";
import { createScratch } from "../scratch.ts";
import {
  type WarmPython,
  ENV,
  PYTHON,
  TRL,
  createPythonEngine,
  hasPython,
  startWarmPython,
} from "./environment.ts";

const SHAPE = { layers: 2, heads: 2, width: 16, context: 96 };
const LORA = { r: 4, alpha: 8, targetModules: ["q_proj", "v_proj"] };
/** Of a figure, or of 1 if it is smaller; the two add float32 numbers in another order. */
const FIGURE_NEAR = 2e-5;
const TENSOR_NEAR = 1e-5;

const PAIRS = Array.from({ length: 21 }, (_, i) => ({
  prompt: `ask ${i} `,
  chosen: `good ${"é ".repeat(i % 5)}`,
  rejected: `bad ${"ab ".repeat((3 * i) % 7)}`,
}));
const JUDGED = PAIRS.flatMap(({ prompt, chosen, rejected }, i) => [
  { prompt, completion: chosen, label: true },
  ...(i % 3 === 0 ? [] : [{ prompt, completion: rejected, label: false }]),
]);
const ROWS = { dpo: PAIRS, kto: JUDGED };
/** As a job's file has them. */
const written = (type: "dpo" | "kto", rows: object[]) =>
  canonical(rows, type === "dpo" ? PAIR_FORMAT : LABELLED_FORMAT);
const DPO = { type: "dpo" } as const;
const KTO = { type: "kto" } as const;
/** The last answer is all that is learned; it is cut. */
const CONVERSATIONS = PAIRS.map(({ prompt, chosen, rejected }, i) => ({
  input: {
    messages: [
      { role: "user", content: prompt },
      { role: "assistant", content: "what?" },
      { role: "user", content: "again" },
    ],
  },
  preferred_output: [{ role: "assistant", content: chosen.repeat(1 + (i % 3)) }],
  non_preferred_output: [{ role: "assistant", content: rejected }],
}));

describe.runIf(hasPython)("preferences with Python", () => {
  const scratch = createScratch();
  let warm: WarmPython;
  const engines = {
    embedded: createEmbeddedEngine,
    python: () => createPythonEngine({ path: warm.path, env: ENV }),
  };

  beforeAll(async () => {
    warm = await startWarmPython(...TRL);
  });
  afterAll(async () => {
    await warm.close();
    scratch.remove();
  });

  interface Asked extends Partial<TrainingOptions> {
    objective: NonNullable<TrainingOptions["objective"]> & { type: "dpo" | "kto" };
  }

  async function train(
    engine: Engine,
    { objective, ...more }: Asked,
    { rows = ROWS[objective.type], resumeFrom = "" }: { rows?: object[]; resumeFrom?: string } = {},
  ) {
    const path = scratch.file("rows.jsonl", written(objective.type, rows));
    const dataset = { type: "jsonl", path } as const;
    const common = { model: SHAPE, batchSize: 4, learningRate: 0.002, warmupSteps: 2, seed: 3 };
    const logging = { maxSteps: 20, loggingSteps: 1, saveSteps: 10 };
    const config = engine.prepare({ dataset, objective, ...common, ...logging, ...more });
    const directory = scratch.directory();
    const events: EngineEvent[] = [];
    await engine.train({
      ...{ config, directory, signal: new AbortController().signal },
      ...(resumeFrom && { resumeFrom }),
      onEvent: (event) => events.push(event),
    });
    const logs = events.flatMap(({ event, data }) => (event === "training.log" ? [data] : []));
    return {
      started: events[0]?.data,
      logs: logs.map(({ tokensPerSecond: _, ...log }) => log),
      saved: (step: number) => join(directory, "artifacts", `step-${step}`),
    };
  }

  it.each<[string, Asked, object[]?]>([
    ["pairs, of an adapter", { objective: DPO, lora: LORA }],
    ["pairs, of accumulated batches", { objective: DPO, gradientAccumulationSteps: 2 }],
    ["pairs that may be wrong", { objective: { ...DPO, labelSmoothing: 0.2 }, lora: LORA }],
    ["pairs and their good answers", { objective: { ...DPO, sftWeight: 0.5 }, lora: LORA }],
    ["pairs as OpenAI's, cut", { objective: DPO, lora: LORA, maxLength: 60 }, CONVERSATIONS],
    ["pairs that are held out", { objective: DPO, evalSplit: 0.3, evalSteps: 10 }],
    ["judged answers, of an adapter", { objective: KTO, lora: LORA }],
    ["judged answers, cut", { objective: KTO, lora: LORA, maxLength: 24 }],
    [
      "judged answers, of accumulated batches",
      { objective: { ...KTO, undesirableWeight: 1.5 }, gradientAccumulationSteps: 2 },
    ],
    ["judged answers that are held out", { objective: KTO, evalSplit: 0.3, evalSteps: 10 }],
  ])("learns what the embedded engine learns: %s", async (_, asked, rows) => {
    const ours = await train(engines.embedded(), asked, { rows });
    const theirs = await train(engines.python(), asked, { rows });
    const fingerprints = {
      fingerprint: expect.any(String),
      ...(asked.evalSplit !== undefined && { evalFingerprint: expect.any(String) }),
    };
    const environment = expect.any(Object) as unknown;
    expect(theirs.started).toEqual({ ...ours.started, ...fingerprints, environment });
    expect(theirs.logs).toEqual(near(ours.logs, FIGURE_NEAR));
    expect(theirs.logs.at(-1)?.metrics).toMatchObject({ rewardsMargins: expect.any(Number) });
    expect(apart(ours.saved(20), theirs.saved(20))).toBeLessThan(TENSOR_NEAR);
  });

  it.each<[string, Asked]>([
    ["pairs, of an adapter", { objective: DPO, lora: LORA }],
    ["pairs, of a whole model", { objective: DPO }],
    ["judged answers, of an adapter", { objective: KTO, lora: LORA }],
    ["judged answers, of a whole model", { objective: KTO }],
  ])("goes on from a checkpoint to the same figures: %s", async (_, asked) => {
    const more = { ...asked, evalSplit: 0.3, loggingSteps: 3 };
    const whole = await train(engines.python(), more);
    const resumed = await train(engines.python(), more, { resumeFrom: whole.saved(10) });
    expect(resumed.logs).toEqual(whole.logs.filter(({ step }) => step > 10));
    expect(apart(resumed.saved(20), whole.saved(20))).toBe(0);
  });

  it.each<[string, Asked["objective"], object[]]>([
    ["pairs", DPO, [...PAIRS, { prompt: "p", chosen: "x".repeat(90), rejected: "x".repeat(91) }]],
    ["judged answers", KTO, [...JUDGED, { ...JUDGED[0], label: 0 }, JUDGED[0]!]],
  ])("checks the same as the embedded engine: %s", async (_, objective, rows) => {
    const path = scratch.file("rows.jsonl", written(objective.type, rows));
    const checked = async (engine: Engine) => {
      const config = engine.prepare({
        dataset: { type: "jsonl", path },
        ...{ objective, model: SHAPE, lora: LORA, maxLength: 60 },
      });
      const { firstRow, dataset, started } = await engine.check({ config });
      return { firstRow, dataset, rows: started.rows, leftOut: started.leftOut };
    };
    const ours = await checked(engines.embedded());
    expect(await checked(engines.python())).toEqual(ours);
    expect(ours.leftOut).toBe(objective.type === "dpo" ? 1 : 0);
    expect(ours.dataset?.duplicates.rows).toBe(objective.type === "dpo" ? 0 : 1);
  });

  it("says what to install where TRL is missing, and nothing else needs it", async () => {
    const python = environmentWithout("trl", scratch.directory());
    const engine = createPythonEngine({ path: python, env: ENV });
    const failed = train(engine, { objective: DPO, maxSteps: 1 });
    await expect(failed).rejects.toMatchObject({ name: "KitError", code: "PYTHON_UNFIT" });
    await expect(failed).rejects.toThrow(
      /^The Python at \S+ lacks trl, which the objective "dpo" needs\. Install with: \S+ -m pip install --upgrade "trl>=1\.16"$/,
    );
  });

  it("sends nothing: TRL's report of a training is off", async () => {
    const hub = await startHub({});
    try {
      const env = { ...ENV, HF_ENDPOINT: hub.endpoint, CI: "" };
      const engine = createPythonEngine({ path: PYTHON, env });
      await train(engine, { objective: DPO, maxSteps: 2 });
      expect(hub.requests).toEqual([]);
    } finally {
      await hub.close();
    }
  });
});

/** The same, with each number to within a difference, for a larger one relative to it. */
function near<T>(value: T, by: number): T {
  const digitsOf = (one: number) => -Math.log10(2 * by * Math.max(1, Math.abs(one)));
  const nearTo = (one: unknown): unknown => {
    if (typeof one === "number") return expect.closeTo(one, digitsOf(one));
    if (Array.isArray(one)) return one.map(nearTo);
    if (typeof one !== "object" || one === null) return one;
    return Object.fromEntries(Object.entries(one).map(([key, of]) => [key, nearTo(of)]));
  };
  return nearTo(value) as T;
}

/** The largest difference between the numbers of two checkpoints with the same tensors. */
function apart(...folders: [string, string]): number {
  const [one, other] = folders.map((folder) => {
    const isWeights = (name: string) => /^(adapter_)?model\.safetensors$/.test(name);
    return tensorReader(readFileSync(join(folder, readdirSync(folder).find(isWeights)!)));
  });
  expect(one!.names).toEqual(other!.names);
  const differences = one!.names.map((name) => {
    const others = other!(name).flat();
    return one!(name)
      .flat()
      .map((value, i) => Math.abs(value - others[i]!));
  });
  return Math.max(...differences.flat());
}

/** An environment as the tests', but for a package. @returns its interpreter */
function environmentWithout(name: string, folder: string): string {
  const home = dirname(dirname(PYTHON));
  const [version = ""] = readdirSync(join(home, "lib"));
  const packages = join("lib", version, "site-packages");
  mkdirSync(join(folder, packages), { recursive: true });
  mkdirSync(join(folder, "bin"));
  cpSync(join(home, "pyvenv.cfg"), join(folder, "pyvenv.cfg"));
  symlinkSync(PYTHON, join(folder, "bin", "python"));
  for (const one of readdirSync(join(home, packages))) {
    if (one !== name && !one.startsWith(`${name}-`)) {
      symlinkSync(join(home, packages, one), join(folder, packages, one));
    }
  }
  return join(folder, "bin", "python");
}
