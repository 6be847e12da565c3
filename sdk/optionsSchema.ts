import { inspect } from "node:util";
import * as v from "valibot";

const line = v.pipe(v.string("a text"), v.regex(/^.*\S.*$/, "a line of text that is not empty"));

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

/** What each option of `createTrainer` must be, in words too, and its default. */
export const optionsSchema = v.strictObject(
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

/** One sentence: the option, what was expected and what was found. */
export function describeIssue(issue: v.InferIssue<typeof optionsSchema>): string {
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
