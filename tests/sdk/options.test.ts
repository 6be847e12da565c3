import { readdirSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { availableSimd } from "../../engines/embedded/kernels/simd.ts";
import { createRayEngine } from "../../engines/ray/index.ts";
import type { KitError } from "../../protocol/error.ts";
import { createDefaultEngine } from "../../sdk/engine.ts";
import { python } from "../../sdk/engines.ts";
import { resolveConfig } from "../../sdk/job/config.ts";
import { createKit } from "../../sdk/kit.ts";
import { type LoraOptions, type TrainerOptions, checkOptions } from "../../sdk/options.ts";
import { createTrainer } from "../../sdk/trainer.ts";
import { createProject } from "../project.ts";

const least = { name: "tiny", dataset: { type: "jsonl", path: "data.jsonl" } } as const;
const home = process.cwd();

afterEach(() => process.chdir(home));

/** The error of the least options with these, which TypeScript would refuse. */
function problemWith(options: Record<string, unknown>): KitError {
  return problemOf(() => createTrainer({ ...least, ...options }));
}

function problemOf(call: () => unknown): KitError {
  try {
    call();
  } catch (error) {
    return error as KitError;
  }
  throw new Error("nothing was thrown");
}

describe("createTrainer's options", () => {
  it("have a default for all but a name and a dataset", () => {
    expect(resolveConfig(checkOptions(least).config, "/project")).toEqual({
      engine: { name: "embedded", simd: availableSimd() },
      model: "kit/nano",
      dataset: { type: "jsonl", path: "/project/data.jsonl" },
      lora: undefined,
      objective: undefined,
      maxSteps: 400,
      numTrainEpochs: undefined,
      evalDataset: undefined,
      evalSplit: undefined,
      evalSteps: 100,
      batchSize: 32,
      gradientAccumulationSteps: 1,
      maxLength: undefined,
      learningRate: 0.004,
      lrSchedulerType: "cosine",
      warmupSteps: 20,
      weightDecay: 0.01,
      maxGradNorm: 1,
      loggingSteps: 5,
      saveSteps: 100,
      seed: 42,
      saveTotalLimit: undefined,
      loadBestModelAtEnd: false,
      metricForBestModel: "evalLoss",
      greaterIsBetter: false,
      earlyStoppingPatience: undefined,
      resume: false,
    });
  });

  it("reach the job as they are given", () => {
    const given = {
      model: { layers: 1, heads: 2, width: 8, context: 32 },
      maxSteps: 3,
      batchSize: 2,
      gradientAccumulationSteps: 4,
      evalSplit: 0.1,
      evalSteps: 1,
      saveTotalLimit: 3,
      loadBestModelAtEnd: true,
      metricForBestModel: "evalLoss" as const,
      earlyStoppingPatience: 4,
      resume: true,
      maxLength: 16,
      learningRate: 0.1,
      lrSchedulerType: "linear" as const,
      warmupSteps: 0,
      weightDecay: 0,
      maxGradNorm: 2.5,
      loggingSteps: 1,
      saveSteps: 2,
      seed: 0,
    };
    expect(resolveConfig(checkOptions({ ...least, ...given }).config, "/p")).toMatchObject(given);
  });

  it("have each path of a dataset made absolute", () => {
    const dataset = { type: "jsonl", path: ["data/*.jsonl", "/a.jsonl"] } as const;
    const { config } = checkOptions({ ...least, dataset });
    expect(resolveConfig(config, "/p").dataset.path).toEqual(["/p/data/*.jsonl", "/a.jsonl"]);
  });

  it("keep the URL of a dataset that a cluster's workers read", () => {
    const paths = ["s3://bucket/a.jsonl?region=eu-west-1", "file:///me@home/b.jsonl"];
    const dataset = { type: "jsonl", path: [...paths, "c.jsonl"] } as const;
    const { config } = checkOptions({ ...least, dataset, engine: createRayEngine() });
    expect(resolveConfig(config, "/p").dataset.path).toEqual([...paths, "/p/c.jsonl"]);
  });

  it.each([
    { dataset: { type: "jsonl", path: "s3://KEY:se/cret@bucket/x" } },
    { dataset: { type: "jsonl", path: ["a.jsonl", " s3://bucket/x?secret_key=se/cret"] } },
    { evalDataset: { type: "jsonl", path: "s3://KEY:se/cret@bucket/x" } },
    { dataset: "s3://KEY:se/cret@bucket/x" },
  ])("never show a password or key: %j", (options) => {
    for (const engine of [createDefaultEngine(), createRayEngine()]) {
      const { code, message } = problemWith({ ...options, engine });
      expect(code).toBe("OPTION_INVALID");
      expect(message).toMatch(
        /^createTrainer: "(evalD|d)ataset\S*" must be (a path or a URL without a password or key, which belongs in the cluster's own environment|\{ path \}, rows, or a function that returns them)\.$/,
      );
    }
  });

  it("evaluate as often as they save, on a path relative to the project", () => {
    const evalDataset = { type: "jsonl", path: "eval.jsonl" } as const;
    const { config } = checkOptions({ ...least, saveSteps: 30, evalDataset });
    expect(resolveConfig(config, "/p")).toMatchObject({
      evalDataset: { type: "jsonl", path: "/p/eval.jsonl" },
      evalSteps: 30,
    });
  });

  it("train for epochs in place of steps", () => {
    const { config } = checkOptions({ ...least, numTrainEpochs: 2.5 });
    expect(config).toMatchObject({ numTrainEpochs: 2.5, maxSteps: undefined });
  });

  it("give a checkpoint and its adapter lower learning rates, unless one is asked for", () => {
    const lora = { r: 4, alpha: 8 };
    const rateOf = (more: Partial<TrainerOptions>) =>
      checkOptions({ ...least, ...more }).config.learningRate;
    expect(rateOf({ lora })).toBe(0.004);
    expect(rateOf({ model: "./base" })).toBe(0.00002);
    expect(rateOf({ model: "./base", lora })).toBe(0.0002);
    expect(rateOf({ model: "./base", lora, learningRate: 0.01 })).toBe(0.01);
    expect(checkOptions({ ...least, model: "./base" }).config.batchSize).toBe(4);
  });

  it("fill in TRL's defaults of an objective, and its learning rate", () => {
    const configOf = (objective: TrainerOptions["objective"], lora?: TrainerOptions["lora"]) => {
      const engine = { ...createDefaultEngine(), objectives: ["dpo", "kto"] as const };
      return checkOptions({ ...least, model: "./base", engine, objective, lora }).config;
    };
    expect(configOf({ type: "dpo", sftWeight: 1, beta: undefined })).toMatchObject({
      objective: { type: "dpo", beta: 0.1, labelSmoothing: 0, sftWeight: 1 },
      learningRate: 0.000001,
    });
    expect(configOf({ type: "kto" }, { r: 4, alpha: 8 })).toMatchObject({
      objective: { type: "kto", beta: 0.1, desirableWeight: 1, undesirableWeight: 1 },
      learningRate: 0.00001,
    });
    expect(configOf({ type: "sft" })).toMatchObject({
      objective: undefined,
      learningRate: 0.00002,
    });
  });

  it("refuse an objective that the engine doesn't train, and KTO with nothing to compare", () => {
    const engine = { ...createDefaultEngine(), name: "mine", objectives: ["kto"] };
    expect(problemWith({ engine, objective: { type: "dpo" } }).message).toBe(
      'createTrainer: the mine engine doesn\'t train the objective "dpo". Remove engine to train it with the embedded one, or remove objective.',
    );
    expect(problemWith({ engine, objective: { type: "kto" }, batchSize: 1 }).message).toBe(
      'createTrainer: "batchSize" must be at least 2, because the objective "kto" compares the answers of a batch with each other.',
    );
  });

  it("adapt every projection, with r 16 and twice that as alpha, unless lora says otherwise", () => {
    const loraOf = (lora: LoraOptions) =>
      resolveConfig(checkOptions({ ...least, lora }).config, "/p").lora;
    const all = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];
    expect(loraOf({})).toEqual({ r: 16, alpha: 32, targetModules: all });
    expect(loraOf({ r: 4 })).toEqual({ r: 4, alpha: 8, targetModules: all });
    expect(loraOf({ alpha: 5, targetModules: "all-linear" })).toMatchObject({ r: 16, alpha: 5 });
    const targetModules = ["q_proj", "v_proj"];
    expect(loraOf({ r: 2, targetModules })).toEqual({ r: 2, alpha: 4, targetModules });
  });

  it("take a model's path relative to the project", () => {
    const at = (model: TrainerOptions["model"]) =>
      resolveConfig(checkOptions({ ...least, model }).config, "/p").model;
    expect(at("./base")).toBe("/p/base");
    expect(at("/models/base")).toBe("/models/base");
  });

  it.each([
    [{ name: "" }, "createTrainer: \"name\" must be a non-empty, one-line string, but is ''."],
    [{ name: "a\nb" }, "\"name\" must be a non-empty, one-line string, but is 'a\\nb'."],
    [{ dataset: { type: "jsonl", path: " " } }, '"dataset.path" must be a non-empty string'],
    [{ name: 7 }, 'createTrainer: "name" must be a string, but is 7.'],
    [{ name: undefined }, 'createTrainer needs the option "name".'],
    [
      { dataset: { type: "jsonl", path: ["a", ""] } },
      "\"dataset.path.1\" must be a non-empty string, but is ''.",
    ],
    [
      { dataset: { type: "jsonl", path: [] } },
      '"dataset.path" must be a path, a pattern or a list of them, but is [].',
    ],
    [
      { dataset: { type: "jsonl", path: 3 } },
      '"dataset.path" must be a path, a pattern or a list of them, but is 3.',
    ],
    [{ dataset: undefined }, 'createTrainer needs the option "dataset".'],
    [
      { dataset: "data.jsonl" },
      "\"dataset\" must be { path }, rows, or a function that returns them, but is 'data.jsonl'",
    ],
    [{ dataset: { type: "jsonl" } }, 'createTrainer needs the option "dataset.path".'],
    [
      { dataset: { type: "xls", path: "a" } },
      '"dataset.type" must be one of "jsonl", "csv", "parquet", "json", "hub", but is \'xls\'.',
    ],
    [{ dataset: { path: "a", columns: { answer: "b" } } }, 'unknown option "dataset.columns'],
    [{ dataset: { path: "a", map: 1 } }, '"dataset.map" must be a function, but is 1'],
    [{ dataset: { type: "jsonl" } }, 'createTrainer needs the option "dataset.path".'],
    [{ lora: true }, '"lora" must be { r?, alpha?, targetModules?, baseType? }, but is true.'],
    [
      { lora: { r: 1, alpha: 1, baseType: "q4_0" as "q8_0" } },
      '"lora.baseType" must be "q8_0", but is \'q4_0\'.',
    ],
    [{ lora: { r: 0, alpha: 1 } }, '"lora.r" must be a whole number of at least 1, but is 0.'],
    [{ lora: { r: 1, alpha: -1 } }, '"lora.alpha" must be a number greater than 0, but is -1.'],
    [
      { lora: { r: 1, alpha: 1, targetModules: ["q_proj", "query"] } },
      '"lora.targetModules" must be "all-linear" or name some of q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj, but has "query".',
    ],
    [
      { maxLength: 300 },
      '"maxLength" must be at most the model\'s context of 256 tokens, but is 300.',
    ],
    [
      { lora: { r: 1, alpha: 1, targetModules: [] } },
      '"lora.targetModules" must be "all-linear" or name some of q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj, but is empty.',
    ],
    [
      { objective: "dpo" },
      '"objective" must be { type: "sft" }, { type: "dpo" } or { type: "kto" }, but is \'dpo\'.',
    ],
    [
      { objective: { type: "ppo" } },
      '"objective.type" must be one of "sft", "dpo", "kto", but is \'ppo\'.',
    ],
    [
      { objective: { type: "dpo", desirableWeight: 1 } },
      'unknown option "objective.desirableWeight". "objective" takes type, beta, labelSmoothing, sftWeight.',
    ],
    [
      { objective: { type: "dpo", labelSmoothing: 0.5 } },
      '"objective.labelSmoothing" must be a share of at least 0 and below 0.5, but is 0.5.',
    ],
    [
      { objective: { type: "kto", beta: 0 } },
      '"objective.beta" must be a number greater than 0, but is 0.',
    ],
    [{ maxSteps: 0 }, '"maxSteps" must be a whole number of at least 1, but is 0.'],
    [{ maxSteps: 1.5 }, '"maxSteps" must be a whole number of at least 1, but is 1.5.'],
    [{ maxSteps: "9" }, "\"maxSteps\" must be a whole number of at least 1, but is '9'."],
    [{ batchSize: NaN }, '"batchSize" must be a whole number of at least 1, but is NaN.'],
    [{ maxLength: 1 }, '"maxLength" must be a whole number of at least 2, but is 1.'],
    [{ learningRate: 0 }, '"learningRate" must be a number greater than 0, but is 0.'],
    [{ learningRate: Infinity }, '"learningRate" must be a number greater than 0, but is Inf'],
    [
      { warmupSteps: -1 },
      '"warmupSteps" must be a whole number of at least 0, or a share below 1, but is -1.',
    ],
    [{ warmupSteps: 1.5 }, '"warmupSteps" must be a whole number of at least 0, or a share below'],
    [{ warmupSteps: "1" }, '"warmupSteps" must be a whole number of at least 0, or a share below'],
    [
      { numTrainEpochs: 0 },
      '"numTrainEpochs" must be a number greater than 0 and at most 1000000, but is 0.',
    ],
    [{ numTrainEpochs: 1e300 }, '"numTrainEpochs" must be a number greater than 0 and at most '],
    [
      { maxSteps: 1, numTrainEpochs: 1 },
      'createTrainer: set either "maxSteps" or "numTrainEpochs", not both.',
    ],
    [{ saveTotalLimit: 0 }, '"saveTotalLimit" must be a whole number of at least 1, but is 0.'],
    [{ loadBestModelAtEnd: 1 }, '"loadBestModelAtEnd" must be true or false, but is 1.'],
    [{ resume: "yes" }, "\"resume\" must be true or false, but is 'yes'."],
    [
      { metricForBestModel: "loss" },
      '"metricForBestModel" must be one of evalLoss, but is "loss".',
    ],
    [
      { earlyStoppingPatience: 0 },
      '"earlyStoppingPatience" must be a whole number of at least 1, but is 0.',
    ],
    [
      { loadBestModelAtEnd: true },
      'createTrainer: "loadBestModelAtEnd" needs held-out rows. Add evalDataset or evalSplit.',
    ],
    [
      { earlyStoppingPatience: 2, evalSplit: 0.1 },
      'createTrainer: "earlyStoppingPatience" requires "loadBestModelAtEnd: true"; otherwise the result would be the last checkpoint, not the best.',
    ],
    [
      { loadBestModelAtEnd: true, evalSplit: 0.1, evalSteps: 20, saveSteps: 50 },
      'createTrainer: with "loadBestModelAtEnd", "saveSteps" must be a multiple of "evalSteps" (20), so that every checkpoint has its evalLoss, but is 50.',
    ],
    [{ evalSplit: 1 }, '"evalSplit" must be a share between 0 and 1, but is 1.'],
    [{ evalSplit: 0 }, '"evalSplit" must be a share between 0 and 1, but is 0.'],
    [{ evalSplit: "0.1" }, '"evalSplit" must be a share between 0 and 1, but is '],
    [
      { evalDataset: "a" },
      '"evalDataset" must be { path }, rows, or a function that returns them, but is ',
    ],
    [{ evalDataset: { type: "jsonl" } }, 'createTrainer needs the option "evalDataset.path".'],
    [
      { evalDataset: least.dataset, evalSplit: 0.1 },
      'createTrainer: set either "evalDataset" or "evalSplit", not both.',
    ],
    [{ evalSplit: 0.1, evalSteps: 0 }, '"evalSteps" must be a whole number of at least 1, but'],
    [
      { evalSteps: 10 },
      'createTrainer: "evalSteps" needs held-out rows. Add evalDataset or evalSplit.',
    ],
    [
      { gradientAccumulationSteps: 0 },
      '"gradientAccumulationSteps" must be a whole number of at least 1, but is 0.',
    ],
    [
      { lrSchedulerType: "polynomial" },
      '"lrSchedulerType" must be one of "cosine", "linear", "constant", but is \'polynomial\'.',
    ],
    [{ weightDecay: -0.1 }, '"weightDecay" must be a number of at least 0, but is -0.1.'],
    [{ maxGradNorm: 0 }, '"maxGradNorm" must be a number greater than 0, but is 0.'],
    [{ loggingSteps: 0 }, '"loggingSteps" must be a whole number of at least 1, but is 0.'],
    [{ saveSteps: null }, '"saveSteps" must be a whole number of at least 1, but is null.'],
    [{ seed: 0.5 }, '"seed" must be a whole number of at least 0, but is 0.5.'],
    [{ callbacks: { onLog: "log" } }, "\"callbacks.onLog\" must be a function, but is 'log'."],
    [
      { engine: "python" },
      'createTrainer: "engine" must be python(), with import { python } from "kit/engines", but is \'python\'.',
    ],
    [
      { engine: "ray" },
      '"engine" must be ray(), with import { ray } from "kit/engines", but is \'ray\'.',
    ],
    [
      { engine: python },
      '"engine" must be python(), with import { python } from "kit/engines", but is',
    ],
    [
      { engine: "embedded" },
      "\"engine\" must be omitted for the embedded engine, but is 'embedded'.",
    ],
    [
      { engine: "cuda" },
      "\"engine\" must be an engine: { name, prepare, check, train, load }, but is 'cuda'.",
    ],
    [{ engine: { name: "mine" } }, 'createTrainer needs the option "engine.prepare".'],
    [
      { engine: { ...createDefaultEngine(), resumeFiles: "optimizer" } },
      "\"engine.resumeFiles\" must be a list of names, but is 'optimizer'.",
    ],
    [{ abortSignal: {} }, '"abortSignal" must be an AbortSignal, but is {}.'],
    [{ model: null }, "a model's name or { layers, heads, width, context }, but is null."],
    [{ model: 3 }, '"model" must be a string, but is 3.'],
    [
      { model: { layers: 0, heads: 1, width: 8, context: 32 } },
      "createTrainer: model.layers must be a positive whole number, not 0.",
    ],
    [
      { model: { layers: 1, heads: 1, width: 8, context: 2 } },
      "createTrainer: model.context must be at least 8 tokens, not 2.",
    ],
    [
      { model: { layers: 1, heads: 1, width: "8", context: 32 } },
      "\"model.width\" must be a number, but is '8'.",
    ],
    [
      { model: { layers: 1, heads: 3, width: 8, context: 32 } },
      "model.width (8) must be a multiple of twice model.heads",
    ],
    [{ model: "kit/huge" }, 'Unknown model "kit/huge". Use kit/nano, kit/small,'],
  ])("say what is wrong with %j", (options, message) => {
    const error = problemWith(options);
    expect(error.message).toContain(message);
    expect(error.message).toMatch(/^createTrainer/);
    expect(error).toMatchObject({ name: "KitError", code: "OPTION_INVALID" });
  });

  it("must be there", () => {
    const error = problemOf(() => (createTrainer as () => unknown)());
    expect(error.message).toBe(
      "createTrainer: its argument must be an object of options, but is undefined.",
    );
  });

  it.each([
    [
      { optimizer: "sgd" },
      'option "optimizer". It takes name, model, dataset, engine, evalDataset,',
    ],
    [
      { maxStep: 3 },
      'unknown option "maxStep". Did you mean "maxSteps"? It takes name, model, dataset, engine,',
    ],
    [
      { callbacks: { onLogs: () => {} } },
      'option "callbacks.onLogs". Did you mean "onLog"? "callbacks" takes onStarted, onLog, onCheckpoint,',
    ],
    [
      { lora: { rank: 4, r: 4, alpha: 8 } },
      '"lora.rank". Did you mean "r"? "lora" takes r, alpha, targetModules, baseType.',
    ],
    [
      { engine: python(), lora: { r: 4, alpha: 8, baseType: "q8_0" } },
      'createTrainer: Only the embedded engine supports "lora.baseType". Remove it, or remove engine.',
    ],
    [
      { engine: createRayEngine(), lora: { r: 4, alpha: 8, baseType: "q8_0" } },
      'createTrainer: Only the embedded engine supports "lora.baseType". Remove it, or remove engine.',
    ],
    // A model trained whole has no frozen base.
    [{ baseType: "q8_0" }, 'unknown option "baseType".'],
    [
      { lora: { r: 4, alpha: 8, target_modules: [] } },
      '"lora.target_modules". Did you mean "targetModules"? "lora" takes r, alpha, targetModules, baseType.',
    ],
    [
      { model: { layers: 1, heads: 1, width: 8, context: 32, depth: 2 } },
      '"model.depth". Did you mean "layers"? "model" takes layers, heads, width, context.',
    ],
  ])("name the known ones for one that is unknown: %j", (options, message) => {
    expect(problemWith(options).message).toContain(message);
  });

  it("touch nothing on disk", () => {
    const project = createProject();
    process.chdir(project);
    createKit({ trainer: createTrainer(least) });
    expect(readdirSync(project)).toEqual([]);
  });
});

describe("createKit", () => {
  const call = createKit as (options: unknown) => unknown;

  it("exposes no trainer when it is given none", () => {
    expect(createKit().trainer).toBeUndefined();
    expect(createKit({}).trainer).toBeUndefined();
  });

  it("exposes the trainer it is given", () => {
    const trainer = createTrainer(least);
    expect(createKit({ trainer }).trainer).toBe(trainer);
  });

  it.each([
    [{ trainer: least }, 'createKit: "trainer" must be what createTrainer(...) returns, but is {'],
    [{ trainer: "tiny" }, "\"trainer\" must be what createTrainer(...) returns, but is 'tiny'."],
    [{ trainer: { start() {}, wait() {} } }, '"trainer" must be what createTrainer(...) returns'],
    [null, "createKit takes { trainer }, not null."],
    ["x", "createKit takes { trainer }, not 'x'."],
    [
      { trainr: null },
      'createKit: unknown option "trainr". Did you mean "trainer"? It takes trainer: createKit({ trainer }).',
    ],
    [createTrainer(least), 'createKit: unknown option "name". It takes trainer'],
  ])("refuses %o", (options, message) => {
    const error = problemOf(() => call(options));
    expect(error.message).toContain(message);
    expect(error.code).toBe("OPTION_INVALID");
  });
});
