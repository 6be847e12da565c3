import * as v from "valibot";
import {
  type Columns,
  type DatasetFiles,
  type HubDataset,
  DATASET_TYPES,
} from "../../protocol/dataset.ts";
import { TRAINING_ENGINES } from "../../protocol/engineOptions.ts";
import { EVAL_LOSS } from "../../protocol/evaluation.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import {
  type EvaluateOptions,
  type Metric,
  type Metrics,
  METRIC_NAME_PATTERN,
} from "../../protocol/metric.ts";
import { OBJECTIVE_TYPES } from "../../protocol/objective.ts";
import { type LoraConfig, type ModelShape, BASE_TYPES } from "../../protocol/trainConfig.ts";
import { PLAIN_OPTIONS } from "../../protocol/trainerOptions.ts";
import { hasCredentials, isUrl } from "../../protocol/url.ts";
import {
  line,
  notNegative,
  oneOf,
  positive,
  text,
  wholeNumber,
} from "../../protocol/valueSchemas.ts";
import type { TrainerCallbacks } from "../callbacks.ts";
import type { TrainerOptions } from "../options.ts";
import { type Owner, describeIssue } from "./describeIssue.ts";
import { objective, objectiveSchemaOf } from "./objectiveSchema.ts";

const callback = v.optional(v.function("a function"));

const modelName = text;

const number = v.number("a number");

const modelShape = v.strictObject(
  { layers: number, heads: number, width: number, context: number } satisfies Record<
    keyof ModelShape,
    v.GenericSchema
  >,
  "a model's name or { layers, heads, width, context }",
);

const PATHS = "a path, a pattern or a list of them";

const onePath = v.pipe(
  text,
  v.check(
    (path) => !isSecret(path),
    "a path or a URL without a password or key, which belongs in the cluster's own environment",
  ),
);

const datasetPath = v.lazy((input) =>
  Array.isArray(input)
    ? v.pipe(v.array(onePath, PATHS), v.nonEmpty(PATHS))
    : v.pipe(v.string(PATHS), onePath),
);

/** Refused, because records and output would show it. */
function isSecret(value: unknown): boolean {
  return typeof value === "string" && isUrl(value) && hasCredentials(value);
}

const columns = v.strictObject(
  {
    messages: v.optional(text),
    tools: v.optional(text),
    prompt: v.optional(text),
    completion: v.optional(text),
    text: v.optional(text),
    chosen: v.optional(text),
    rejected: v.optional(text),
    label: v.optional(text),
  } satisfies Record<keyof Columns, v.GenericSchema>,
  '{ prompt: "question", completion: "answer" }',
);

const DATASET = "{ path }, rows, or a function that returns them";

const recordOptions = {
  columns: v.optional(columns),
  map: v.optional(v.function("a function")),
};

const datasetFiles = v.strictObject(
  {
    type: v.optional(oneOf(...DATASET_TYPES, "hub")),
    path: datasetPath,
    ...recordOptions,
  } satisfies Record<keyof DatasetFiles, v.GenericSchema>,
  DATASET,
);

const hubDataset = v.strictObject(
  {
    type: v.literal("hub"),
    name: text,
    config: v.optional(text),
    split: v.optional(text),
    revision: v.optional(text),
    ...recordOptions,
  } satisfies Record<keyof HubDataset, v.GenericSchema>,
  DATASET,
);

/** Rows of code are checked when they are made. */
const dataset = v.lazy((input) => {
  if (isCode(input)) return v.any();
  return isOfHub(input) ? hubDataset : datasetFiles;
});

function isOfHub(input: unknown): boolean {
  return isRecord(input) && input["type"] === "hub";
}

function isCode(input: unknown): boolean {
  if (typeof input === "function") return true;
  if (typeof input !== "object" || input === null) return false;
  return Symbol.iterator in input || Symbol.asyncIterator in input;
}

const TARGETS = 'a list of names, or "all-linear"';
const targetNames = v.array(v.string("a string"), TARGETS);
const allLinear = v.literal("all-linear", TARGETS);

const lora = v.strictObject(
  {
    r: v.optional(wholeNumber(1)),
    alpha: v.optional(positive()),
    targetModules: v.optional(v.lazy((input) => (Array.isArray(input) ? targetNames : allLinear))),
    baseType: v.optional(oneOf(...BASE_TYPES)),
  } satisfies Record<keyof LoraConfig, v.GenericSchema>,
  "{ r?, alpha?, targetModules?, baseType? }",
);

export const callbacks = v.strictObject(
  {
    onStarted: callback,
    onLog: callback,
    onCheckpoint: callback,
    onEvaluated: callback,
    onCompleted: callback,
    onFailed: callback,
    onCancelled: callback,
  } satisfies Record<keyof TrainerCallbacks, v.GenericSchema>,
  "an object of functions",
);

const method = v.function("a function");

const METRIC_NAME =
  "a name of letters, digits, _ and - that begins with a letter, and is not evalLoss";
const METRICS = "functions by name, such as { accuracy: exactMatch }";

const metric = v.custom<Metric>(
  (input) =>
    typeof input === "function" || (isRecord(input) && typeof input.compute === "function"),
  "a function that returns a number, true or false",
);

const metrics = v.pipe(
  v.custom<Metrics>(isRecord, METRICS),
  v.record(
    v.pipe(
      v.string(),
      v.regex(METRIC_NAME_PATTERN, METRIC_NAME),
      v.check((name) => name !== EVAL_LOSS, METRIC_NAME),
    ),
    metric,
    METRICS,
  ),
  v.check((input) => Object.keys(input).length > 0, METRICS),
);

const evaluate = v.strictObject(
  {
    metrics,
    rows: v.optional(wholeNumber(1)),
    maxTokens: v.optional(wholeNumber(1)),
    temperature: v.optional(notNegative()),
  } satisfies Record<keyof EvaluateOptions, v.GenericSchema>,
  "{ metrics }",
);

const engine = v.looseObject(
  {
    name: line,
    prepare: method,
    check: method,
    train: method,
    load: method,
    resumeFiles: v.optional(v.array(line, "a list of names")),
    objectives: v.optional(v.array(oneOf(...OBJECTIVE_TYPES), "a list of objectives")),
  },
  ({ input }) => expectedEngine(input),
);

/** How to write an engine that was given by name or as an uncalled function. */
function expectedEngine(input: unknown): string {
  const name = typeof input === "function" ? input.name : input;
  if (name === "embedded") return "omitted for the embedded engine";
  const engine = TRAINING_ENGINES.find((one) => one === name);
  if (!engine) return "an engine: { name, prepare, check, train, load }";
  return `${engine}(), with import { ${engine} } from "kit/engines"`;
}

function plainOptions() {
  type Schemas = {
    [K in keyof typeof PLAIN_OPTIONS]: v.OptionalSchema<
      (typeof PLAIN_OPTIONS)[K]["schema"],
      undefined
    >;
  };
  const entries = Object.entries(PLAIN_OPTIONS).map(([name, { schema }]) => [
    name,
    v.optional(schema),
  ]);
  return Object.fromEntries(entries) as Schemas;
}

/**
 * Schema of the options of `createTrainer`, with messages. Model sizes and LoRA targets are only checked by
 * type; the engine knows which it can train.
 */
export const optionsSchema = v.strictObject(
  {
    name: line,
    model: v.optional(v.lazy((input) => (typeof input === "object" ? modelShape : modelName))),
    dataset,
    engine: v.optional(engine),
    evalDataset: v.optional(dataset),
    lora: v.optional(lora),
    objective: v.optional(objective),
    ...plainOptions(),
    evaluate: v.optional(evaluate),
    callbacks: v.optional(callbacks),
    abortSignal: v.optional(v.instance(AbortSignal, "an AbortSignal")),
  } satisfies Record<keyof TrainerOptions, v.GenericSchema>,
  "an object of options",
);

/** Schemas of nested options by path. */
const NESTED: Record<string, Owner> = {
  model: modelShape,
  dataset: datasetFiles,
  "dataset.columns": columns,
  evalDataset: datasetFiles,
  "evalDataset.columns": columns,
  lora,
  evaluate,
  callbacks,
};

/** Names the option, the expected value and the actual one. */
export function describeOption(issue: v.InferIssue<typeof optionsSchema>): string {
  const hides = (_name: string, value: unknown) => isSecret(value);
  const [owner] = issue.path ?? [];
  const nested = { ...NESTED };
  if (owner && isOfHub(owner.value)) nested[String(owner.key)] = hubDataset;
  const ofObjective = owner?.key === "objective" && objectiveSchemaOf(owner.value);
  if (ofObjective) nested["objective"] = ofObjective;
  return describeIssue("createTrainer", issue, { schema: optionsSchema, nested, hides });
}
