import { spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { python } from "kit/engines";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { gpu } from "../../../bench/rows/gpu.ts";
import { inScope } from "../../../bench/scope.ts";
import { saveModel } from "../../../engines/checkpoint/checkpoint.ts";
import { openTokenizer } from "../../../engines/checkpoint/savedTokenizer.ts";
import { exportModel } from "../../../engines/export/exportModel.ts";
import { dimensionsOf } from "../../../engines/families/dimensions.ts";
import { PROJECTIONS } from "../../../engines/families/projections.ts";
import { randomWeights } from "../../../engines/families/randomWeights.ts";
import type { Engine } from "../../../protocol/engine.ts";
import type { EngineEvent } from "../../../protocol/event.ts";
import type { TrainingOptions } from "../../../protocol/trainConfig.ts";
import { startHub } from "../../hub/server.ts";
import { createTinyTrainer, enterProject, readEvents } from "../../sdk/project.ts";
import { describeEngine } from "../contract.ts";
import { createEmbeddedEngine } from "../embedded/built.ts";
import { jsonl } from "../embedded/scratch.ts";
import { toBfloat16 } from "../embedded/tiny.ts";
import { OTHER_ARGUMENTS } from "../otherArguments.ts";
import { STYLES, writeTokenizer } from "../tokens/styles.ts";
import {
  type WarmPython,
  ENGINE_FOLDER,
  ENV,
  createPythonEngine,
  TRL,
  hasPython,
  startWarmPython,
} from "./environment.ts";

const SHAPE = { layers: 2, heads: 2, width: 16, context: 96 };
/** Its rows are longer than its window. */
const GEMMA = dimensionsOf({
  ...{ ...SHAPE, family: "gemma3_text", kvHeads: 1, headDim: 6, queryScalar: 7 },
  sliding: { layers: [0], window: 6, theta: 30 },
});
/** Relative; the two add float32 numbers in another order. */
const LOSS_NEAR = 2e-6;
const NORM_NEAR = 2e-5;
const BENCH_LIMIT_MS = 600_000;

const PROMPTS = Array.from({ length: 9 }, (_, i) => ({
  prompt: `ask ${i} `,
  completion: ` é 日本 ${i}\n`,
}));
const MESSAGES = PROMPTS.map(({ prompt, completion }) => ({
  messages: [
    { role: "system", content: "Be kind" },
    { role: "user", content: prompt },
    { role: "assistant", content: completion },
    { role: "user", content: "again\n" },
    { role: "assistant", content: "é" },
  ],
}));
const TEXTS = PROMPTS.map(({ completion }, i) => ({ text: completion.repeat(5 * i + 1) }));
const MIXED = [...PROMPTS.slice(0, 3), ...MESSAGES.slice(3, 6), ...TEXTS.slice(6)];

let warm: WarmPython;

describe.runIf(hasPython)("with Python", () => {
  const home = mkdtempSync(join(tmpdir(), "kit-python-"));
  const engines = {
    embedded: createEmbeddedEngine,
    python: () => createPythonEngine({ path: warm.path, env: ENV }),
  };
  /** Checkpoints of the embedded engine. */
  const model = join(home, "model", "artifacts", "step-1");
  const adapter = join(home, "adapter", "artifacts", "step-1");
  const gemma = join(home, "gemma");
  const lora = { r: 4, alpha: 8, targetModules: ["q_proj", "down_proj"] };
  let count = 0;

  beforeAll(async () => {
    warm = await startWarmPython(...TRL);
    await train("embedded", PROMPTS, { model: SHAPE, maxSteps: 1 }, join(home, "model"));
    await train("embedded", PROMPTS, { model, maxSteps: 1, lora }, join(home, "adapter"));
    saveModel(gemma, randomWeights(GEMMA, 1), { shape: GEMMA, promptStyle: "message" });
    await printed("models.py", home);
  });
  afterAll(async () => {
    await warm.close();
    rmSync(home, { recursive: true, force: true });
  });

  async function train(
    name: keyof typeof engines,
    rows: object[],
    more: Partial<TrainingOptions> = {},
    directory = join(home, String(count++)),
  ) {
    const path = join(home, "rows.jsonl");
    writeFileSync(path, jsonl(rows));
    const engine: Engine = engines[name]();
    const common = { batchSize: 4, learningRate: 0.01, warmupSteps: 2, weightDecay: 0.1 };
    const asked = { ...common, loggingSteps: 1, maxLength: 80, ...more };
    const config = engine.prepare({ dataset: { type: "jsonl", path }, maxSteps: 6, ...asked });
    const events: EngineEvent[] = [];
    const { signal } = new AbortController();
    const notes: string[] = [];
    const onNote = (note: string) => void notes.push(note);
    const onEvent = (event: EngineEvent) => void events.push(event);
    await engine.train({ config, directory, signal, onEvent, onNote });
    const steps = events.flatMap(({ event, data }) => (event === "training.log" ? [data] : []));
    const [started] = events;
    const last = events.at(-1)?.data;
    const saved = join(directory, last && "path" in last ? last.path : "");
    return { started: started?.data, steps, saved, notes };
  }

  describeEngine("python", engines.python);

  describe("the python engine beside the embedded one", () => {
    it.each<[string, object[], Partial<TrainingOptions>]>([
      ["prompt and completion", PROMPTS, { model }],
      ["messages", MESSAGES, { model }],
      ["texts, longer than a row", TEXTS, { model, maxLength: 40 }],
      ["mixed rows, of accumulated batches", MIXED, { model, gradientAccumulationSteps: 2 }],
      ["rows set aside", MIXED, { model, evalSplit: 0.3, evalSteps: 2 }],
      ["with every argument", MIXED, { model, ...OTHER_ARGUMENTS }],
      ["an adapter", MIXED, { model, lora }],
      ["an adapter's adapter", PROMPTS, { model: adapter, lora: { r: 2, alpha: 2 } }],
      ["an adapter, trained on whole", PROMPTS, { model: adapter }],
      ["Gemma 3", MIXED, { model: gemma }],
      ["an adapter of Gemma 3", MIXED, { model: gemma, lora }],
      ["a preset", PROMPTS, { model: "kit/nano" }],
      ["an adapter of a preset", PROMPTS, { model: "kit/nano", lora, learningRate: 0.001 }],
    ])("learns the same: %s", async (_, rows, asked) => {
      const ours = await train("embedded", rows, asked);
      const theirs = await train("python", rows, asked);
      // Of each engine's own form: only its own jobs are compared.
      const fingerprints = {
        fingerprint: expect.any(String),
        ...(asked.evalSplit !== undefined && { evalFingerprint: expect.any(String) }),
      };
      const environment = {
        ...{ device: "cpu", precision: "float32", python: expect.stringMatching(/^3\./) as string },
        ...{ torch: expect.any(String) as string, transformers: expect.any(String) as string },
        ...{ peft: expect.any(String) as string, accelerate: expect.any(String) as string },
        trl: expect.any(String) as string,
      };
      expect(theirs.started).toEqual({ ...ours.started, ...fingerprints, environment });
      const near = (value: number | null | undefined, by: number): unknown =>
        typeof value === "number" ? expect.closeTo(value, digitsOf(value * by)) : value;
      expect(theirs.steps).toEqual(
        ours.steps.map((log) => ({
          ...log,
          loss: near(log.loss, LOSS_NEAR),
          ...(log.evalLoss !== undefined && { evalLoss: near(log.evalLoss, LOSS_NEAR) }),
          gradNorm: near(log.gradNorm, NORM_NEAR),
          tokensPerSecond: expect.any(Number),
        })),
      );
    });

    it.each<[string, Partial<TrainingOptions>]>([
      ["models", { model }],
      ["adapters", { model, lora }],
      ["models of Gemma 3", { model: gemma }],
      ["adapters of Gemma 3", { model: gemma, lora }],
    ])("each answers from the other's %s alike, and trains on from them", async (_, asked) => {
      for (const from of ["embedded", "python"] as const) {
        const { saved } = await train(from, PROMPTS, { ...asked, maxSteps: 30 });
        const [ours, theirs] = [await answer("embedded", saved), await answer("python", saved)];
        expect(theirs).toEqual(ours);
        const next = { model: saved, maxSteps: 1 };
        const losses = [
          await train("embedded", PROMPTS, next),
          await train("python", PROMPTS, next),
        ];
        const [mine = NaN, other] = losses.map(({ steps }) => steps[0]?.loss ?? NaN);
        expect(other).toBeCloseTo(mine, 5);
      }
    });

    async function answer(name: keyof typeof engines, directory: string) {
      const loaded = await engines[name]().load(directory);
      const asked = [
        { prompt: "ask 1 " },
        { prompt: "ask 3 ", maxTokens: 2 },
        { messages: [{ role: "user" as const, content: "ask 5 " }], maxTokens: 7 },
      ];
      const answers = [];
      for (const request of asked) answers.push(await loaded.infer(request));
      await loaded.close();
      return answers;
    }
  });

  it("is a trainer's engine by one line, and answers in its callbacks while it trains", async () => {
    const project = enterProject();
    const tokens: number[] = [];
    const trainer = createTinyTrainer({
      engine: python({ path: warm.path, env: ENV }),
      model: { layers: 1, heads: 2, width: 8, context: 32 },
      callbacks: {
        onCheckpoint: async ({ infer }) => {
          tokens.push((await infer({ prompt: "1", maxTokens: 3 })).tokens);
        },
      },
    });
    const { job, artifacts } = await trainer.wait();
    expect(job.status).toBe("completed");
    expect(tokens).toHaveLength(2);
    expect(artifacts.map(({ step }) => step)).toEqual([2, 4]);
    const names = readEvents(project, job.id).map(({ event }) => event);
    expect([names[0], names.at(-1)]).toEqual(["training.started", "training.completed"]);
    const left = artifacts.flatMap(({ directory }) => readdirSync(directory));
    expect(left).not.toContain("optimizer.pt");
  });

  it("trains any causal model of the hub, and answers from its adapter", async () => {
    const hub = await startHub({ "org/gpt2": { files: join(home, "gpt2") } });
    vi.stubEnv("HF_ENDPOINT", hub.endpoint);
    vi.stubEnv("HF_HOME", join(home, "cache"));
    onTestFinished(async () => {
      vi.unstubAllEnvs();
      await hub.close();
    });
    const asked = { model: "org/gpt2", maxLength: undefined, maxSteps: 2 };
    const whole = await train("python", MIXED, asked);
    expect(whole.steps.map(({ step }) => step)).toEqual([1, 2]);
    expect(readFileSync(join(whole.saved, "config.json"), "utf8")).not.toContain(home);
    const more = { lora: { r: 2, alpha: 4, targetModules: ["all-linear"] } };
    const { steps, saved } = await train("python", MIXED, { ...asked, ...more });
    expect(steps[0]?.loss).toBe(whole.steps[0]?.loss);
    const settings = JSON.parse(readFileSync(join(saved, "adapter_config.json"), "utf8")) as object;
    const base = { base_model_name_or_path: "org/gpt2", revision: hub.head("org/gpt2") };
    expect(settings).toMatchObject(base);
    const loaded = await engines.python().load(saved);
    expect(await loaded.infer({ prompt: "ask", maxTokens: 3 })).toMatchObject({ tokens: 3 });
    await loaded.close();
    const misnamed = { ...asked, lora: { r: 2, alpha: 4, targetModules: ["q_proj"] } };
    await expect(train("python", MIXED, misnamed)).rejects.toThrow(
      /^"lora\.targetModules" must name layers of the model: .*q_proj.* Use "all-linear"/,
    );
  });

  it("saves no weights that are finite, and too large to learn on from", async () => {
    const directory = join(home, "large");
    const tooLarge = { model, learningRate: 1e30, saveSteps: 1, warmupSteps: 0 };
    for (const engine of ["embedded", "python"] as const) {
      const failed = train(engine, PROMPTS, tooLarge, directory);
      await expect(failed).rejects.toMatchObject({ name: "KitError", code: "DIVERGED" });
      expect(existsSync(join(directory, "artifacts/step-1"))).toBe(false);
    }
  });

  it("accumulated batches are one batch, also of a model that averages each", async () => {
    const some = { model: join(home, "bart"), maxSteps: 2 };
    const whole = await train("python", TEXTS, { ...some, batchSize: 6 });
    const accumulated = { ...some, batchSize: 2, gradientAccumulationSteps: 3 };
    const { steps } = await train("python", TEXTS, accumulated);
    const measured = steps.map(({ loss, gradNorm }) => [loss, gradNorm]);
    const near = (value: unknown): unknown => expect.closeTo(Number(value), 4);
    expect(measured).toEqual(whole.steps.map(({ loss, gradNorm }) => [near(loss), near(gradNorm)]));
  });

  it("an export answers in transformers as in Kit, and is PEFT's merge in the base's type", async () => {
    const cases = [
      { type: "float32", tied: false },
      { type: "float32", tied: true },
      { type: "bfloat16", tied: false },
      { type: "bfloat16", tied: true },
      { type: "float16", tied: true },
    ];
    const prompts = PROMPTS.slice(0, 3).map(({ prompt }) => prompt);
    const found: { to: string; adapter: string; texts: string[] }[] = [];
    for (const { type, tied } of cases) {
      const base = await publishedModel(type, tied);
      const asked = { model: base, lora: { r: 4, alpha: 8, targetModules: [...PROJECTIONS] } };
      const { saved: adapter } = await train("embedded", PROMPTS, { ...asked, maxSteps: 40 });
      const to = join(home, String(count++));
      await exportModel(adapter, to);
      const names = [base, to].map((path) => readdirSync(path).filter(isWeights));
      expect(names[1]).toEqual(names[0]);
      expect(names[1]).toHaveLength(type === "float16" ? 3 : 1);
      const model = await engines.embedded().load(to);
      const texts: string[] = [];
      for (const prompt of prompts) {
        texts.push((await model.infer({ prompt, maxTokens: 12 })).text);
      }
      await model.close();
      expect(texts.join("")).toContain("日本");
      found.push({ to, adapter, texts });
    }
    const paths = found.flatMap(({ to, adapter }) => [to, adapter]);
    const theirs = await printed("export.py", "ask", JSON.stringify(prompts), ...paths);
    expect(theirs).toEqual(
      found.map(({ texts }, i) => ({
        ...{ dtype: `torch.${cases[i]!.type}`, missing: [], texts },
        others: expect.any(Number),
        apart: expect.any(Number),
      })),
    );
    for (const [i, { others, apart }] of (theirs as Record<string, number>[]).entries()) {
      if (cases[i]?.type === "float32") expect(apart).toBeLessThan(1e-6);
      else expect(others).toBeLessThan(1e-3);
    }
  });

  const isWeights = (name: string) => name.endsWith(".safetensors");

  /** The folder of a small Llama with a tokenizer as SmolLM's. */
  async function publishedModel(type: string, tied: boolean): Promise<string> {
    const style = STYLES["SmolLM"]!;
    const shape = dimensionsOf({
      ...{ layers: 2, heads: 4, kvHeads: 2, width: 32, intermediateSize: 64, context: 256 },
      ...{ vocabulary: style.size, tied },
    });
    const base = join(home, String(count++));
    const weights = randomWeights(shape, 1);
    const stored = type === "bfloat16" ? toBfloat16(weights) : weights;
    saveModel(base, stored, { shape, promptStyle: "message" });
    writeTokenizer(base, style);
    const { isStopToken } = openTokenizer(base, style.size).tokenizer;
    const eos = Array.from({ length: style.size }, (_, id) => id).find(isStopToken);
    writeFileSync(join(base, "generation_config.json"), JSON.stringify({ eos_token_id: eos }));
    if (type !== "float16") return base;
    const halved = join(home, String(count++));
    await printed("export.py", "halve", base, halved);
    return halved;
  }

  it("goes on from a checkpoint without its optimizer, and says so", async () => {
    const engine = engines.python();
    const path = join(home, "rows.jsonl");
    const more = { maxSteps: 3, learningRate: 0.01, warmupSteps: 4, batchSize: 4 };
    const config = engine.prepare({ model, dataset: { type: "jsonl", path }, ...more });
    const [steps, notes]: [EngineEvent[], string[]] = [[], []];
    await engine.train({
      ...{ config, directory: join(home, String(count++)), resumeFrom: model },
      signal: new AbortController().signal,
      onEvent: (event) => event.event === "training.log" && steps.push(event),
      onNote: (note) => notes.push(note),
    });
    expect(notes.slice(-2)).toEqual([
      expect.stringMatching(/^warning: \S+ has no optimizer\.pt, so the optimizer starts afresh;/),
      "saving step 3",
    ]);
    const rates = steps.map(({ data }) => "learningRate" in data && [data.step, data.learningRate]);
    expect(rates).toEqual([
      [2, 0.005],
      [3, 0.0075],
    ]);
  });

  it("says where it computes", async () => {
    const engine = engines.python();
    const path = join(home, "rows.jsonl");
    writeFileSync(path, jsonl([{ text: "a" }]));
    const config = engine.prepare({ model, dataset: { type: "jsonl", path } });
    const notes: string[] = [];
    await engine.check({ config, onNote: (note) => notes.push(note) });
    expect(notes).toEqual([
      expect.stringMatching(/^Python 3\S+, torch \S+, .+ from python\(\{ path \}\)\)$/),
      "loading PyTorch",
      expect.stringMatching(/^device cpu, float32: PyTorch \S+ sees no GPU$/),
    ]);
    notes.length = 0;
    const loaded = await engine.load(model, { onNote: (note) => notes.push(note) });
    await loaded.close();
    expect(notes).toEqual(["loading PyTorch"]);
  });

  it("learns the answers that a chat template shows, each up to its end", async () => {
    expect(await printed("masks.py")).toEqual({
      ChatML: [" hello é 日本 \n<|im_end|>", "hello<|im_end|>"],
      "Llama 3": ["hello é 日本<|eot|>", "hello<|eot|>"],
      none: [" hello é 日本 \n<|im_end|>", "hello<|im_end|>"],
      text: ["hello there<|im_end|>"],
      // ":::" is one token, which the question's part begins.
      joined: ["hello<|im_end|>"],
      rewrites: [" hello é 日本 \n<|im_end|>", "hello<|im_end|>"],
      reopens: expect.stringMatching(
        /^The model's chat template doesn't begin an assistant message/,
      ),
      weighted: ["hello<|im_end|>"],
      tools: expect.stringMatching(/^The model's chat template doesn't support tools\. /),
      refuses: expect.stringContaining("refuses a conversation: Only user and assistant."),
      unasked: expect.stringMatching(/^A conversation starts with an assistant message\. /),
      bytes: ["🧪!", "", "\ufffd\ufffd!", "🧪"],
    });
  });

  it("says as the embedded engine does that a model reads conversations without a template", async () => {
    const style = STYLES["SmolLM"]!;
    const shape = dimensionsOf({ ...SHAPE, vocabulary: style.size });
    const folder = join(home, "plain");
    saveModel(folder, randomWeights(shape, 1), { shape, promptStyle: "message" });
    writeTokenizer(folder, style, { chat_template: undefined });
    const note = expect.stringMatching(
      /^the model has no chat template, so a row's contents are joined/,
    );
    for (const engine of ["embedded", "python"] as const) {
      const more = { model: folder, maxSteps: 1 };
      expect((await train(engine, MIXED, more)).notes).toContainEqual(note);
      expect((await train(engine, TEXTS, more)).notes).not.toContainEqual(note);
      expect((await train(engine, MIXED, { ...more, model })).notes).not.toContainEqual(note);
    }
  });

  it("is measured beside a bare Trainer, on this processor as on a GPU", async () => {
    vi.stubEnv("KIT_PYTHON", warm.path);
    onTestFinished(() => void vi.unstubAllEnvs());
    const [line] = await inScope("tiny", BENCH_LIMIT_MS, (scope) => gpu.measure(scope));
    expect(line?.ours).toBeGreaterThan(0);
    expect(line?.baseline).toBeGreaterThan(0);
  });

  it("names a GPU, and has no cuDNN plan its attention for each length of a batch", async () => {
    expect(await printed("device.py")).toEqual({
      gpu: "device cuda (NVIDIA H200), bfloat16",
      float32: "device cuda (NVIDIA H200), float32",
      apple: "device mps, float32",
      recorded: expect.objectContaining({
        ...{ device: "cuda", gpu: "NVIDIA H200", precision: "bfloat16" },
        torch: expect.stringMatching(/^\d/) as string,
      }),
      plans: [true, false],
    });
  });

  it("a check says a little more memory than trainings took on a GPU", async () => {
    const shares = Object.entries((await printed("memory.py")) as Record<string, number>);
    expect(shares.map(([name]) => name)).toEqual([
      ...["whole bfloat16", "lora bfloat16", "whole float32", "lora float32"],
    ]);
    expect(shares.filter(([, share]) => share < 1 || share > 1.25)).toEqual([]);
  });

  it("says in one clear sentence what to lower when memory runs out", async () => {
    expect(await printed("failures.py")).toEqual({
      processor: ["OUT_OF_MEMORY", expect.stringMatching(/^The Python process ran out of memory/)],
      python: [
        "OUT_OF_MEMORY",
        expect.stringMatching(/Use a smaller batchSize with .+ gradientCheckpointing, or train an/),
      ],
      gpu: ["OUT_OF_MEMORY", expect.stringMatching(/^The GPU ran out of memory\. Use a smaller/)],
      library: [
        "OUT_OF_MEMORY",
        expect.stringMatching(/^The GPU ran out of memory\. Use a smaller/),
      ],
      taken: [
        "OUT_OF_MEMORY",
        expect.stringMatching(
          /memory; other programs are using 76 of its 80 GiB \(nvidia-smi .+ Use a/,
        ),
      ],
      alone: ["OUT_OF_MEMORY", expect.stringMatching(/^The GPU ran out of memory\. Use a smaller/)],
      full: [
        "OUT_OF_MEMORY",
        expect.stringMatching(/memory; other programs are using it \(nvidia-smi/),
      ],
      bug: ["WORKER_FAILED", expect.stringContaining("ValueError: no message. Run again with")],
      answer: ["OUT_OF_MEMORY", expect.stringMatching(/Use a smaller model, shorter prompts or/)],
    });
  });

  it.each([
    ["config.json", '{"model_type":"t5"}', "MODEL_INVALID", /is a t5 model, which does not gen/],
    [
      "config.json",
      '{"model_type":"bert"}',
      "MODEL_INVALID",
      /is a bert model, which does not gen/,
    ],
    ["config.json", '{"model_type":"nobody"}', "CHECKPOINT_INVALID", /^Cannot load \S+: /],
    ["model.safetensors", "damaged", "CHECKPOINT_INVALID", /^Cannot load \S+: /],
    ["tokenizer.json", "{}", "CHECKPOINT_INVALID", /^Cannot load \S+: /],
  ])("refuses a model in a sentence: %s is %s", async (file, content, code, message) => {
    const directory = join(home, String(count++));
    cpSync(model, directory, { recursive: true });
    writeFileSync(join(directory, file), content);
    const failed = train("python", PROMPTS, { model: directory });
    await expect(failed).rejects.toMatchObject({ name: "KitError", code });
    await expect(failed).rejects.toThrow(message);
  });
});

/** The JSON that a program of these tests prints. */
async function printed(name: string, ...more: string[]): Promise<unknown> {
  const words = [fileURLToPath(new URL(name, import.meta.url)), ENGINE_FOLDER, ...more];
  const child = spawn(warm.path, words, { stdio: ["ignore", "pipe", "inherit"] });
  return JSON.parse(await text(child.stdout)) as unknown;
}

/** Decimal digits that `toBeCloseTo` compares for a difference. */
function digitsOf(difference: number): number {
  return -Math.log10(2 * Math.max(difference, 1e-12));
}
