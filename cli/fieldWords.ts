import type { TrainerOptions } from "../sdk/options.ts";
import { didYouMean } from "../sdk/validation/didYouMean.ts";
import { shellWord } from "./shell.ts";

/** What others call a command. */
const COMMAND_WORDS: Record<string, readonly string[]> = {
  init: ["new", "create", "setup"],
  check: ["lint", "validate", "verify"],
  start: ["train", "run", "fit", "learn", "finetune", "fine-tune", "sft", "dpo"],
  "start --resume": ["resume", "continue"],
  ui: ["dev", "dashboard", "page", "web", "open"],
  jobs: ["list", "ls", "ps", "runs", "history", "status"],
  infer: ["ask", "chat", "generate", "predict", "prompt", "complete", "answer", "test"],
  serve: ["server", "api", "deploy"],
  eval: ["evaluate", "score", "compare", "benchmark"],
  export: ["merge", "convert", "gguf", "quantize", "save", "publish"],
};

type OptionName = Exclude<keyof TrainerOptions, "abortSignal" | "callbacks" | "resume">;

/** What the command lines of other trainers call an option; its own name in dashes is known anyway. */
const OPTION_WORDS: Record<OptionName, readonly string[]> = {
  name: ["run-name", "output-dir", "output"],
  model: ["model-name", "model-name-or-path", "base-model", "base"],
  dataset: ["data", "dataset-name", "train", "train-file", "train-data", "training-file"],
  engine: ["backend"],
  evalDataset: ["eval-data", "eval-file", "val-data", "validation-file", "test-file"],
  evalSplit: ["val-size", "val-set-size", "validation-split", "test-size", "eval-size"],
  evalSteps: ["eval-every", "eval-strategy", "steps-per-eval"],
  lora: ["use-lora", "use-peft", "lora-r", "lora-rank", "lora-alpha", "lora-target-modules"],
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

/** The commands that read the trainer. */
const READ_TRAINER = new Set(["build", "check", "start", "ui"]);
const COMMANDER_MEANT = /\n\(Did you mean [^\n]*\?\)/;

/**
 * What Commander says of wrong words, with what they would be here.
 * @param args what the command line has after `kit`
 */
export function withFieldWords(text: string, commands: readonly string[], args: string[]): string {
  const [, kind, word = ""] = /^error: unknown (command|option) '([^'=]*)/.exec(text) ?? [];
  const command = args.find((one) => !one.startsWith("-")) ?? "";
  if (kind === "command") return withCommand(text, word, commands);
  if (kind === "option" && READ_TRAINER.has(command)) return withOption(text, word);
  if (command === "infer" && text.startsWith("error: too many arguments")) {
    const [, model = "", ...words] = args;
    const isPlain = args.every((one) => !one.startsWith("-"));
    const quoted = isPlain ? shellWord(words.join(" ")) : '"…"';
    return `${text}Quote the prompt: kit infer ${isPlain ? shellWord(model) : "latest"} ${quoted}\n`;
  }
  return text;
}

function withCommand(text: string, word: string, commands: readonly string[]): string {
  const [exact] = named(word.toLowerCase(), COMMAND_WORDS);
  if (exact === undefined && COMMANDER_MEANT.test(text)) return text;
  const words = [...commands, ...Object.values(COMMAND_WORDS).flat()];
  const meant = /"(.+)"/.exec(didYouMean(word, words))?.[1] ?? "";
  const command = exact ?? (commands.includes(meant) ? meant : named(meant, COMMAND_WORDS)[0]);
  if (command === undefined) return `${text}(kit --help lists the commands)\n`;
  return `${text.replace(COMMANDER_MEANT, "")}(Did you mean kit ${command}?)\n`;
}

function withOption(text: string, flag: string): string {
  const word = flag.replace(/^--?/, "").replaceAll("_", "-").toLowerCase();
  const option =
    named(word, OPTION_WORDS)[0] ??
    Object.keys(OPTION_WORDS).find((name) => name.toLowerCase() === word.replaceAll("-", ""));
  if (option === undefined) return text;
  const advice = `(Options of a training live in its code: write ${option} in createTrainer({ … }), as in src/kit/trainer.ts.)`;
  return `${text.replace(COMMANDER_MEANT, "")}${advice}\n`;
}

/** The names that one of these words belongs to. */
function named(word: string, words: Record<string, readonly string[]>): string[] {
  return Object.keys(words).filter((name) => words[name]!.includes(word));
}
