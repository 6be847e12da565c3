import { isAbsolute, resolve } from "node:path";
import { inspect } from "node:util";
import * as v from "valibot";
import { type ModelSource, resolveModel } from "../engine/presets.ts";
import { PROJECTIONS } from "../engine/weights.ts";
import type { LoraConfig, ModelShape, TrainConfig } from "../protocol/engine.ts";
import { KitError, messageOf } from "../protocol/error.ts";
import type { TrainerCallbacks } from "./callbacks.ts";

/** What `createTrainer` takes. Names follow Hugging Face's `TrainingArguments`. */
export interface TrainerOptions {
  /** Shown in the page and on its button. */
  name: string;
  /**
   * `"kit/nano"` or `"kit/small"`, sizes of your own, or the path of a checkpoint directory
   * (beginning with `.` or `/`) to go on from. Default `"kit/nano"`.
   */
  model?: string | ModelShape;
  dataset: {
    type: "jsonl";
    /** Relative to the project. One `{"messages"}`, `{"prompt","completion"}` or `{"text"}` a line. */
    path: string;
  };
  /** Trains an adapter and leaves the model as it is. Default: the whole model is trained. */
  lora?: Omit<LoraConfig, "targetModules"> & Partial<Pick<LoraConfig, "targetModules">>;
  /** Default 400. */
  maxSteps?: number;
  /** Rows a step. Default 32. */
  batchSize?: number;
  /** Longest row in tokens; what is longer is cut. Default: the model's context. */
  maxLength?: number;
  /** Peak of the schedule: linear warm-up, then cosine to a tenth of it. Default 0.004. */
  learningRate?: number;
  /** Default 20. */
  warmupSteps?: number;
  /** Decoupled, as in AdamW. Default 0.01. */
  weightDecay?: number;
  /** The gradient's global L2 norm is clipped to this. Default 1. */
  maxGradNorm?: number;
  /** Steps between two log events; the first two and the last are always logged. Default 5. */
  loggingSteps?: number;
  /** Steps between two checkpoints; the last step is always saved. Default 100. */
  saveSteps?: number;
  /** The same seed gives the same losses. Default 42. */
  seed?: number;
  callbacks?: TrainerCallbacks;
  /** Aborting it cancels the job. */
  abortSignal?: AbortSignal;
}

const line = v.pipe(
  v.string("a text"),
  v.regex(/^\P{Cc}*[^\s\p{Cc}]\P{Cc}*$/u, "a line of text that is not empty"),
);

const text = v.pipe(v.string("a text"), v.regex(/\S/, "a text that is not empty"));

function wholeNumber(least: number) {
  const expected = `a whole number of at least ${least}`;
  return v.pipe(v.number(expected), v.safeInteger(expected), v.minValue(least, expected));
}

function positive() {
  const expected = "a number greater than 0";
  return v.pipe(v.number(expected), v.finite(expected), v.gtValue(0, expected));
}

function notNegative() {
  const expected = "a number of at least 0";
  return v.pipe(v.number(expected), v.finite(expected), v.minValue(0, expected));
}

const callback = v.optional(v.function("a function"));

const modelName = text;

const modelShape = v.strictObject(
  {
    layers: wholeNumber(1),
    heads: wholeNumber(1),
    width: wholeNumber(2),
    context: wholeNumber(2),
  },
  "a model's name or { layers, heads, width, context }",
);

const dataset = v.strictObject(
  { type: v.literal("jsonl", '"jsonl"'), path: text },
  '{ type: "jsonl", path }',
);

const lora = v.strictObject(
  {
    r: wholeNumber(1),
    alpha: positive(),
    targetModules: v.optional(
      v.pipe(v.array(text, "a list of names"), v.nonEmpty("a list of at least one name")),
      ["q_proj", "v_proj"],
    ),
  },
  "{ r, alpha, targetModules? }",
);

const callbacks = v.strictObject(
  {
    onStarted: callback,
    onLog: callback,
    onCheckpoint: callback,
    onCompleted: callback,
    onFailed: callback,
    onCancelled: callback,
  },
  "an object of functions",
);

const optionsSchema = v.strictObject(
  {
    name: line,
    model: v.optional(
      v.lazy((input) => (typeof input === "object" ? modelShape : modelName)),
      "kit/nano",
    ),
    dataset,
    lora: v.optional(lora),
    maxSteps: v.optional(wholeNumber(1), 400),
    batchSize: v.optional(wholeNumber(1), 32),
    maxLength: v.optional(wholeNumber(2)),
    learningRate: v.optional(positive(), 4e-3),
    warmupSteps: v.optional(wholeNumber(0), 20),
    weightDecay: v.optional(notNegative(), 0.01),
    maxGradNorm: v.optional(positive(), 1),
    loggingSteps: v.optional(wholeNumber(1), 5),
    saveSteps: v.optional(wholeNumber(1), 100),
    seed: v.optional(wholeNumber(0), 42),
    callbacks: v.optional(callbacks),
    abortSignal: v.optional(v.instance(AbortSignal, "an AbortSignal")),
  },
  "an object of options",
);

/** The options that have options of their own. */
const NESTED: Record<string, { entries: object }> = { model: modelShape, dataset, lora, callbacks };

/** The options, checked and with their defaults. */
export type CheckedOptions = Omit<v.InferOutput<typeof optionsSchema>, "callbacks"> & {
  callbacks: TrainerCallbacks;
};

/** @throws KitError `INVALID_OPTION` naming the option, what was expected and what was found */
export function checkOptions(options: TrainerOptions): CheckedOptions {
  const result = v.safeParse(optionsSchema, options, { abortEarly: true });
  if (!result.success) throw new KitError("INVALID_OPTION", describeIssue(result.issues[0]));
  checkFit(result.output);
  return { ...result.output, callbacks: options.callbacks ?? {} };
}

function describeIssue(issue: v.InferIssue<typeof optionsSchema>): string {
  const path = v.getDotPath(issue);
  const option = path ? `"${path}"` : "its argument";
  if (issue.expected === "never") {
    const owner = issue.path && issue.path.length > 1 ? String(issue.path[0].key) : undefined;
    const known = Object.keys((owner ? NESTED[owner] : optionsSchema)?.entries ?? {});
    const taker = owner ? `"${owner}"` : "It";
    return `createTrainer does not know the option ${option}. ${taker} takes ${known.join(", ")}.`;
  }
  const input = issue.path?.at(-1)?.value ?? issue.input;
  if (path && input === undefined) return `createTrainer needs the option ${option}.`;
  const found = inspect(input, { depth: 1, maxStringLength: 60, breakLength: Infinity });
  return `createTrainer: ${option} must be ${issue.message}, but is ${found}.`;
}

/** What the single options cannot tell: whether they fit the model. */
function checkFit({ model, maxLength, lora }: v.InferOutput<typeof optionsSchema>): void {
  const wrong = lora?.targetModules.find((name) => !Object.hasOwn(PROJECTIONS, name));
  if (wrong !== undefined) {
    const known = Object.keys(PROJECTIONS).join(", ");
    fail(`"lora.targetModules" must name some of ${known}, but has ${inspect(wrong)}.`);
  }
  // What a path leads to is on disk, and is looked at when the job starts.
  if (typeof model === "string" && isPath(model)) return;
  const source = resolveOrFail(model);
  if (source.kind !== "shape" || maxLength === undefined) return;
  const { context } = source.shape;
  if (maxLength > context) {
    fail(
      `"maxLength" must be at most the model's context of ${context} tokens, but is ${maxLength}.`,
    );
  }
}

function resolveOrFail(model: string | ModelShape): ModelSource {
  try {
    return resolveModel(model);
  } catch (error) {
    return fail(messageOf(error), error);
  }
}

function fail(problem: string, cause?: unknown): never {
  throw new KitError("INVALID_OPTION", `createTrainer: ${problem}`, { cause });
}

/** The config of a job, with paths made absolute against the project. */
export function resolveConfig(options: CheckedOptions, project: string): TrainConfig {
  const { model, dataset, lora, maxLength } = options;
  return {
    model: typeof model === "string" && isPath(model) ? resolve(project, model) : model,
    dataset: { type: dataset.type, path: resolve(project, dataset.path) },
    lora: lora ?? null,
    maxSteps: options.maxSteps,
    batchSize: options.batchSize,
    maxLength: maxLength ?? null,
    learningRate: options.learningRate,
    warmupSteps: options.warmupSteps,
    weightDecay: options.weightDecay,
    maxGradNorm: options.maxGradNorm,
    loggingSteps: options.loggingSteps,
    saveSteps: options.saveSteps,
    seed: options.seed,
  };
}

function isPath(model: string): boolean {
  return model.startsWith(".") || isAbsolute(model);
}
