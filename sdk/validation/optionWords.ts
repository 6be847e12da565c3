import type { TrainerOptions } from "../options.ts";

/** What others call something, by its own name. */
export type FieldWords = Record<string, readonly string[]>;

type OptionName = Exclude<keyof TrainerOptions, "abortSignal" | "callbacks" | "resume">;

/** What other trainers call an option of `createTrainer`. */
export const OPTION_WORDS: Record<OptionName, readonly string[]> = {
  name: ["run-name", "output-dir", "output"],
  model: ["model-name", "model-name-or-path", "base-model", "base"],
  dataset: ["data", "dataset-name", "train", "train-file", "train-data", "training-file"],
  engine: ["backend"],
  evalDataset: ["eval-data", "eval-file", "val-data", "validation-file", "test-file"],
  evalSplit: ["val-size", "val-set-size", "validation-split", "test-size", "eval-size"],
  evalSteps: ["eval-every", "eval-strategy", "steps-per-eval"],
  lora: [
    "use-lora",
    "use-peft",
    "peft",
    "lora-r",
    "lora-rank",
    "lora-alpha",
    "lora-target-modules",
  ],
  objective: ["loss", "loss-type", "beta"],
  maxLength: ["max-seq-length", "max-seq-len", "cutoff-len", "sequence-len", "context-length"],
  maxSteps: ["steps", "iters", "iterations", "num-steps"],
  numTrainEpochs: ["epochs", "epoch", "num-epochs", "n-epochs"],
  batchSize: ["batch", "bs", "per-device-train-batch-size", "train-batch-size"],
  gradientAccumulationSteps: ["gradient-accumulation", "grad-accum", "accumulation-steps"],
  learningRate: ["lr", "learning-rate-multiplier"],
  lrSchedulerType: ["lr-scheduler", "scheduler"],
  warmupSteps: ["warmup", "warmup-ratio", "num-warmup-steps"],
  weightDecay: ["wd", "decay"],
  maxGradNorm: ["grad-clip", "clip", "gradient-clipping"],
  loggingSteps: ["log-every", "steps-per-report"],
  saveSteps: ["save-every", "checkpoint-every", "save-strategy"],
  seed: ["random-seed"],
  saveTotalLimit: ["save-limit"],
  loadBestModelAtEnd: ["load-best", "load-best-model"],
  metricForBestModel: ["metric", "best-metric"],
  greaterIsBetter: [],
  evaluate: ["eval", "do-eval"],
  earlyStoppingPatience: ["patience", "early-stopping"],
};

/** The same for options within options, by where those are. */
export const NESTED_WORDS: Record<string, FieldWords> = {
  model: {
    layers: ["n-layer", "num-layers", "num-hidden-layers", "depth"],
    heads: ["n-head", "num-heads", "num-attention-heads"],
    width: ["hidden-size", "d-model", "n-embd", "dim"],
    context: ["context-length", "max-length", "max-position-embeddings", "block-size"],
  },
  dataset: { path: ["file", "files", "data-files", "url"], columns: ["fields", "column-names"] },
  lora: {
    r: ["rank", "lora-r", "lora-rank"],
    alpha: ["lora-alpha", "scale", "scaling"],
    targetModules: ["modules", "targets", "target", "lora-target"],
    baseType: ["load-in-8bit", "load-in-4bit", "quantization", "bits", "dtype"],
  },
  evaluate: {
    rows: ["samples", "limit", "max-samples", "count"],
    maxTokens: ["max-new-tokens", "max-completion-tokens", "max-length"],
  },
  callbacks: {
    onStarted: ["on-begin", "on-train-begin"],
    onLog: ["on-step", "on-step-end", "on-progress"],
    onCheckpoint: ["on-save"],
    onEvaluated: ["on-evaluate", "on-eval"],
    onCompleted: ["on-end", "on-done", "on-finish", "on-finished", "on-train-end"],
    onFailed: ["on-error"],
    onCancelled: ["on-abort", "on-cancel"],
  },
};

/** The name that a word of others stands for, in whatever spelling. */
export function wordOf(word: string, words: FieldWords): string | undefined {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[-_]/g, "");
  const written = plain(word);
  return Object.keys(words).find((name) => words[name]!.some((one) => plain(one) === written));
}
