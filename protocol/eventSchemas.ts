// Schemas of each event's data: they define its type and validate engines' reports.
import * as v from "valibot";
import { isArtifactPath } from "./artifactPath.ts";
import { isRecord } from "./isRecord.ts";
import { METRIC_NAME_PATTERN } from "./metric.ts";

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** JSON has no NaN and no infinity: a number that is not finite is null in a log. */
export const measured = v.nullable(v.custom<number>((value) => typeof value === "number"));

/** A logged metric's name, which the page shows unchanged. */
const loggedName = v.pipe(v.string(), v.regex(/^[a-z][A-Za-z0-9]{0,63}$/));
const MAX_METRICS = 100;
/** Limits of an environment's entries, and of each value's length. */
const MAX_ENVIRONMENT_ENTRIES = 100;
const MAX_ENVIRONMENT_LENGTH = 200;

const metricName = v.pipe(v.string(), v.regex(METRIC_NAME_PATTERN));
const metricValues = v.pipe(
  v.custom<Record<string, number>>(isRecord),
  v.record(metricName, v.number()),
  v.maxEntries(MAX_METRICS),
);

const evaluation = v.object({ step: count, evalLoss: v.number() });

export const ARTIFACT = v.object({
  /** Steps trained when it was saved. */
  step: count,
  /** A whole model, or a LoRA adapter, which needs its base. */
  kind: v.picklist(["model", "adapter"]),
  /** Relative to the job's folder, with forward slashes: `artifacts/step-100`. */
  path: v.custom<string>(isArtifactPath),
  /** Marks the best checkpoint in a list of all. */
  best: v.optional(v.boolean()),
});

export const EVENT_SCHEMAS = {
  "training.started": v.object({
    /** A preset's name, `llama-<width>x<layers>`, a checkpoint's path or a hub's name. */
    model: v.string(),
    /** Trainable parameters. */
    parameters: count,
    /** Training rows. */
    rows: count,
    maxSteps: count,
    /** Held-out rows. */
    evalRows: v.optional(count),
    /** Truncated rows: longer than `maxLength`. */
    cut: v.optional(count),
    /** Skipped rows: the prompt leaves no room for an answer. */
    leftOut: v.optional(count),
    /** Truncated rows of `evalDataset`. */
    evalCut: v.optional(count),
    evalLeftOut: v.optional(count),
    /** Maximum tokens of a row: the option, or its default for the model. */
    maxLength: v.optional(count),
    /** Options that would keep every row, when more than a tenth is skipped: `maxLength: 600`. */
    keepLeftOut: v.optional(v.string()),
    /** The keys of a row: `{prompt, completion}`, or of several kinds `{messages} | {text}`. */
    format: v.optional(v.string()),
    /** Tokens of one pass over the dataset, without padding. */
    tokens: v.optional(count),
    /** Hash of the rows, to compare two jobs' datasets. */
    fingerprint: v.optional(v.string()),
    /** Hash of the held-out rows. */
    evalFingerprint: v.optional(v.string()),
    /** Id of the job that this one continues. */
    resumedFrom: v.optional(v.string()),
    /** The step of its checkpoint. */
    resumedStep: v.optional(count),
    /** The best evaluation up to that step, if it was on the same held-out rows. */
    resumedBest: v.optional(evaluation),
    /** Evaluations that show how the held-out metrics developed up to that step. */
    resumedEvaluations: v.optional(
      v.array(
        v.object({
          step: count,
          evalLoss: v.optional(v.number()),
          metrics: v.optional(metricValues),
        }),
      ),
    ),
    /** Total passes over the dataset; may be a fraction. */
    epochs: v.optional(v.number()),
    /** Environment of `python()` and `ray()`: device, GPU, data type and versions. */
    environment: v.optional(
      v.pipe(
        v.custom<Record<string, string>>(isRecord),
        v.record(v.string(), v.pipe(v.string(), v.maxLength(MAX_ENVIRONMENT_LENGTH))),
        v.maxEntries(MAX_ENVIRONMENT_ENTRIES),
      ),
    ),
  }),
  "training.log": v.object({
    step: count,
    /**
     * The objective's loss; for `sft`, the mean negative log likelihood per learned token, in nats. Null if not finite.
     */
    loss: v.optional(measured),
    /** The same over all held-out rows after this step, if evaluated. */
    evalLoss: v.optional(measured),
    learningRate: v.optional(v.number()),
    /** Global L2 norm of the gradient before clipping. */
    gradNorm: v.optional(measured),
    /** Passes over the dataset so far; may be a fraction. */
    epoch: v.optional(v.number()),
    /** Since the previous log, without padding. */
    tokensPerSecond: v.optional(v.number()),
    /** The objective's other metrics: means since the previous log; metric `x` on held-out rows is `evalX`. */
    metrics: v.optional(
      v.pipe(
        v.custom<Record<string, v.InferOutput<typeof measured>>>(isRecord),
        v.record(loggedName, measured),
        v.maxEntries(MAX_METRICS),
      ),
    ),
  }),
  "training.preparing": v.object({
    /** Such as `downloading org/model: 40 MB of 100 MB`. */
    doing: v.string(),
  }),
  "checkpoint.saved": v.omit(ARTIFACT, ["best"]),
  "checkpoint.evaluating": v.object({
    step: count,
    /** Rows answered so far. */
    answered: count,
    /** Rows in all. */
    rows: count,
    /** Estimated at the pace so far. */
    secondsLeft: v.optional(v.number()),
  }),
  "checkpoint.evaluated": v.object({
    /** 0 is the model before training. */
    step: count,
    /** Values by the names of the trainer's `evaluate.metrics`. */
    metrics: metricValues,
    /** Number of rows. */
    rows: count,
    /** How long answering and scoring took. */
    seconds: v.number(),
    /** Metrics where lower is better; for all others, higher is. */
    lowerIsBetter: v.optional(v.array(metricName)),
  }),
  "training.completed": v.object({
    /** Kept artifacts, oldest first; the last is the result: with `loadBestModelAtEnd` the best. */
    artifacts: v.array(ARTIFACT),
    /** Number of older artifacts omitted to keep the record short. */
    omitted: v.optional(count),
    /** The step at which `earlyStoppingPatience` ended training. */
    stoppedAt: v.optional(count),
  }),
  /** Sent without an `id` if the job's process could not log it, because it died or stopped reporting. */
  "training.failed": v.object({ error: v.pipe(v.string(), v.minLength(1)) }),
  "training.cancelled": v.object({ step: count }),
};
