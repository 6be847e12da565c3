// What each event's data is: its type and the check of what an engine reports.
import * as v from "valibot";
import { isArtifactPath } from "./artifactPath.ts";
import { isRecord } from "./isRecord.ts";
import { FIGURE_NAME } from "./metric.ts";

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** JSON has no NaN and no infinity: a number that is not finite is null in a log. */
export const measured = v.nullable(v.custom<number>((value) => typeof value === "number"));

/** User-defined names, shown as they are. */
const metricName = v.pipe(v.string(), v.regex(/^[a-z][A-Za-z0-9]{0,63}$/));
const MAX_METRICS = 100;
/** Of an environment. */
const MAX_FACTS = 100;
const MAX_FACT_LENGTH = 200;

const figureName = v.pipe(v.string(), v.regex(FIGURE_NAME));
const figures = v.pipe(
  v.custom<Record<string, number>>(isRecord),
  v.record(figureName, v.number()),
  v.maxEntries(MAX_METRICS),
);

const evaluation = v.object({ step: count, evalLoss: v.number() });

export const ARTIFACT = v.object({
  /** The last of a job is its result. */
  step: count,
  /** All of a model, or an adapter that `lora` has trained, which needs its base. */
  kind: v.picklist(["model", "adapter"]),
  /** Relative to the job's folder, with forward slashes: `artifacts/step-100`. */
  path: v.custom<string>(isArtifactPath),
  /** Set where all are listed, for the one with the lowest `evalLoss`. */
  best: v.optional(v.boolean()),
});

export const EVENT_SCHEMAS = {
  "training.started": v.object({
    /** A preset's name, `llama-<width>x<layers>`, a checkpoint's path or a hub's name. */
    model: v.string(),
    /** Trainable ones. */
    parameters: count,
    /** Rows of the dataset with something to learn. */
    rows: count,
    maxSteps: count,
    /** Rows that are evaluated on, and not trained on. */
    evalRows: v.optional(count),
    /** Rows longer than `maxLength`, which lost their end. */
    cut: v.optional(count),
    /** Rows that are left out, because no answer fits. */
    leftOut: v.optional(count),
    /** The same of the rows of `evalDataset`. */
    evalCut: v.optional(count),
    evalLeftOut: v.optional(count),
    /** Longest row in tokens. */
    maxLength: v.optional(count),
    /**
     * The options that would keep every row, when more than a tenth is left out: `maxLength: 600`.
     */
    keepLeftOut: v.optional(v.string()),
    /** The keys of a row: `{prompt, completion}`, or of several kinds `{messages} | {text}`. */
    format: v.optional(v.string()),
    /** Tokens of one pass over the dataset, without padding. */
    tokens: v.optional(count),
    /** By its content: whether two jobs had the same dataset. */
    fingerprint: v.optional(v.string()),
    /** The same of the rows that are evaluated on. */
    evalFingerprint: v.optional(v.string()),
    /** The id of the job that this one goes on from. */
    resumedFrom: v.optional(v.string()),
    /** The step of its checkpoint. */
    resumedStep: v.optional(count),
    /** The best evaluation up to that step, if it was on the same held-out rows. */
    resumedBest: v.optional(evaluation),
    /** Passes over the dataset in all, a fraction. */
    epochs: v.optional(v.number()),
    /**
     * What trains, of `python()` and `ray()`: the device, a GPU's name, the numbers, and versions.
     */
    environment: v.optional(
      v.pipe(
        v.custom<Record<string, string>>(isRecord),
        v.record(v.string(), v.pipe(v.string(), v.maxLength(MAX_FACT_LENGTH))),
        v.maxEntries(MAX_FACTS),
      ),
    ),
  }),
  "training.log": v.object({
    step: count,
    /** Mean negative log likelihood of a learned token, in nats; null when it is not finite. */
    loss: v.optional(measured),
    /** The same over all held-out rows after this step, if evaluated. */
    evalLoss: v.optional(measured),
    learningRate: v.optional(v.number()),
    /** Global L2 norm of the gradient before clipping. */
    gradNorm: v.optional(measured),
    /** Passes over the dataset so far, a fraction. */
    epoch: v.optional(v.number()),
    /** Since the previous log, without padding. */
    tokensPerSecond: v.optional(v.number()),
    /**
     * What the objective measures besides: means since the previous log, on held-out rows as
     * `evalName`.
     */
    metrics: v.optional(
      v.pipe(
        v.custom<Record<string, v.InferOutput<typeof measured>>>(isRecord),
        v.record(metricName, measured),
        v.maxEntries(MAX_METRICS),
      ),
    ),
  }),
  "checkpoint.saved": v.omit(ARTIFACT, ["best"]),
  "checkpoint.evaluating": v.object({
    step: count,
    /** Held-out rows that the model has answered. */
    answered: count,
    /** All that it is asked. */
    rows: count,
    /** At the pace so far. */
    secondsLeft: v.optional(v.number()),
  }),
  "checkpoint.evaluated": v.object({
    /** 0 is the model before the training. */
    step: count,
    /** By the names of the trainer's `evaluate.metrics`. */
    metrics: figures,
    /** Held-out rows that the model was asked. */
    rows: count,
    /** How long answering and scoring took. */
    seconds: v.number(),
    /** The metrics of which a lower figure is better; of all others a higher one is. */
    lowerIsBetter: v.optional(v.array(figureName)),
  }),
  "training.completed": v.object({
    /**
     * Those that are kept, oldest first; the last is the result: with `loadBestModelAtEnd` the
     * best.
     */
    artifacts: v.array(ARTIFACT),
    /** How many older ones the list leaves out, so that a record is short. */
    omitted: v.optional(count),
    /** The step at which `earlyStoppingPatience` ended the training. */
    stoppedAt: v.optional(count),
  }),
  /**
   * Without an `id` if the job's process could not write it itself, because it is gone or has
   * stopped reporting.
   */
  "training.failed": v.object({ error: v.pipe(v.string(), v.minLength(1)) }),
  "training.cancelled": v.object({ step: count }),
};
