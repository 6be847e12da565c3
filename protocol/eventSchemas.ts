// What each event's data is: its type, the check of what an engine reports, and by `npm run openapi` its
// schema and its row in the docs all come from here.
import * as v from "valibot";
import { isArtifactPath } from "./artifactPath.ts";
import { isRecord } from "./isRecord.ts";
import { FIGURE_NAME } from "./metric.ts";

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** JSON has no NaN and no infinity: a number that is not finite is null in a log. */
export const measured = v.nullable(v.custom<number>((value) => typeof value === "number"));

/** User-defined names, shown as they are. */
const metricName = v.pipe(v.string(), v.regex(/^[a-z][A-Za-z0-9]{0,63}$/));
const MOST_METRICS = 100;
/** Of an environment. */
const MOST_FACTS = 100;
const LONGEST_FACT = 200;

const path = v.pipe(
  v.custom<string>(isArtifactPath),
  v.description("Relative to the job's folder, with forward slashes: `artifacts/step-100`."),
);

function described<const T extends v.GenericSchema>(schema: T, text: string) {
  return v.optional(v.pipe(schema, v.description(text)));
}

const figureName = v.pipe(v.string(), v.regex(FIGURE_NAME));
const figures = v.pipe(
  v.custom<Record<string, number>>(isRecord),
  v.record(figureName, v.number()),
  v.maxEntries(MOST_METRICS),
);

const evaluation = v.object({ step: count, evalLoss: v.number() });

export const ARTIFACT = v.object({
  /** The last of a job is its result. */
  step: count,
  /** All of a model, or an adapter that `lora` has trained, which needs its base. */
  kind: v.picklist(["model", "adapter"]),
  /** Relative to the job's directory, with forward slashes: `artifacts/step-100`. */
  path,
  /** Set where all are listed, for the one with the lowest `evalLoss`. */
  best: described(v.boolean(), "It has the lowest `evalLoss` of those that are listed."),
});

export const EVENT_SCHEMAS = {
  "training.started": v.object({
    model: v.pipe(
      v.string(),
      v.description(
        "A preset's name, `llama-<width>x<layers>`, a checkpoint's path or a hub's name.",
      ),
    ),
    parameters: v.pipe(count, v.description("Trainable ones.")),
    rows: v.pipe(count, v.description("Rows of the dataset with something to learn.")),
    maxSteps: count,
    evalRows: described(count, "Rows that are evaluated on, and not trained on."),
    cut: described(count, "Rows longer than `maxLength`, which lost their end."),
    leftOut: described(count, "Rows that are left out, because no answer fits."),
    evalCut: described(count, "The same of the rows of `evalDataset`."),
    evalLeftOut: v.optional(count),
    maxLength: described(count, "Longest row in tokens."),
    keepLeftOut: described(
      v.string(),
      "The options that would keep every row, when more than a tenth is left out: `maxLength: 600`.",
    ),
    format: described(
      v.string(),
      "The keys of a row: `{prompt, completion}`, or of several kinds `{messages} | {text}`.",
    ),
    tokens: described(count, "Tokens of one pass over the dataset, without padding."),
    fingerprint: described(v.string(), "By its content: whether two jobs had the same dataset."),
    evalFingerprint: described(v.string(), "The same of the rows that are evaluated on."),
    resumedFrom: described(v.string(), "The id of the job that this one goes on from."),
    resumedStep: described(count, "The step of its checkpoint."),
    resumedBest: described(
      evaluation,
      "The best evaluation up to that step, if it was on the same held-out rows.",
    ),
    epochs: described(v.number(), "Passes over the dataset in all, a fraction."),
    environment: described(
      v.pipe(
        v.custom<Record<string, string>>(isRecord),
        v.record(v.string(), v.pipe(v.string(), v.maxLength(LONGEST_FACT))),
        v.maxEntries(MOST_FACTS),
      ),
      "What trains, of `python()` and `ray()`: the device, a GPU's name, the numbers, and versions.",
    ),
  }),
  "training.log": v.object({
    step: count,
    loss: described(
      measured,
      "Mean negative log likelihood of a learned token, in nats; null when it is not finite.",
    ),
    evalLoss: described(measured, "The same over all held-out rows after this step, if evaluated."),
    learningRate: v.optional(v.number()),
    gradNorm: described(measured, "Global L2 norm of the gradient before clipping."),
    epoch: described(v.number(), "Passes over the dataset so far, a fraction."),
    tokensPerSecond: described(v.number(), "Since the previous log, without padding."),
    metrics: described(
      v.pipe(
        v.custom<Record<string, v.InferOutput<typeof measured>>>(isRecord),
        v.record(metricName, measured),
        v.maxEntries(MOST_METRICS),
      ),
      "What the objective measures besides: means since the previous log, on held-out rows as `evalName`.",
    ),
  }),
  "checkpoint.saved": v.omit(ARTIFACT, ["best"]),
  "checkpoint.evaluating": v.object({
    step: count,
    answered: v.pipe(count, v.description("Held-out rows that the model has answered.")),
    rows: v.pipe(count, v.description("All that it is asked.")),
    secondsLeft: described(v.number(), "At the pace so far."),
  }),
  "checkpoint.evaluated": v.object({
    step: v.pipe(count, v.description("0 is the model before the training.")),
    metrics: v.pipe(figures, v.description("By the names of the trainer's `evaluate.metrics`.")),
    rows: v.pipe(count, v.description("Held-out rows that the model was asked.")),
    seconds: v.pipe(v.number(), v.description("How long asking and scoring took.")),
    lowerIsBetter: described(
      v.array(figureName),
      "The metrics of which a lower figure is better; of all others a higher one is.",
    ),
  }),
  "training.completed": v.object({
    artifacts: v.pipe(
      v.array(ARTIFACT),
      v.description(
        "Those that are kept, oldest first; the last is the result: with `loadBestModelAtEnd` the best.",
      ),
    ),
    omitted: described(
      count,
      "How many older ones the list leaves out, so that a record is short.",
    ),
    stoppedAt: described(count, "The step at which `earlyStoppingPatience` ended the training."),
  }),
  "training.failed": v.pipe(
    v.object({ error: v.pipe(v.string(), v.minLength(1)) }),
    v.description(
      "Without an `id` if the job's process could not write it itself, because it is gone or has stopped reporting.",
    ),
  ),
  "training.cancelled": v.object({ step: count }),
};
