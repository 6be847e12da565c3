import { PLAIN_OPTIONS, fieldOf } from "../../protocol/trainerOptions.ts";
import type { TrainerOptions } from "../options.ts";

/** Other tools' names for an option, by Kit's name. */
export type Synonyms = Record<string, readonly string[]>;

type OptionName = Exclude<keyof TrainerOptions, "abortSignal" | "callbacks" | "resume">;

/** Other trainers' names for options of `createTrainer`. */
export const OPTION_SYNONYMS: Record<OptionName, readonly string[]> = {
  ...fieldOf(PLAIN_OPTIONS, "synonyms"),
  name: ["run-name", "output-dir", "output"],
  model: ["model-name", "model-name-or-path", "base-model", "base"],
  dataset: ["data", "dataset-name", "train", "train-file", "train-data", "training-file"],
  engine: ["backend"],
  evalDataset: ["eval-data", "eval-file", "val-data", "validation-file", "test-file"],
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
  evaluate: ["eval", "do-eval"],
};

/** Other tools' names for nested options, by the outer option. */
export const NESTED_SYNONYMS: Record<string, Synonyms> = {
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

/** Our name for another tool's word, in any spelling. */
export function nameFor(word: string, words: Synonyms): string | undefined {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[-_]/g, "");
  const written = plain(word);
  return Object.keys(words).find((name) => words[name]!.some((each) => plain(each) === written));
}
