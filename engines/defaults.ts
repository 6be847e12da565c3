import {
  type AskedConfig,
  type AskedLora,
  type EngineSettings,
  type LoraConfig,
  type TrainConfig,
  type TrainingArguments,
  ALL_LINEAR,
  isPretrained,
} from "../protocol/trainConfig.ts";

/** A training's kind: all of a model with random weights, all of a checkpoint, or an adapter of one. */
type Kind = "preset" | "pretrained" | "lora";

const MODEL = "kit/nano";
const MAX_STEPS = 400;

/** Good for small models that start from random weights. */
const PRESET: TrainingArguments = {
  batchSize: 32,
  gradientAccumulationSteps: 1,
  learningRate: 4e-3,
  lrSchedulerType: "cosine",
  warmupSteps: 20,
  weightDecay: 0.01,
  maxGradNorm: 1,
  loggingSteps: 5,
  saveSteps: 100,
  seed: 42,
};

/**
 * A pretrained model forgets unless its steps are small; an adapter is small itself and starts at 0.
 * It is larger, and its rows are longer, so that fewer of them fit in memory.
 */
const ARGUMENTS: Record<Kind, TrainingArguments> = {
  preset: PRESET,
  pretrained: { ...PRESET, batchSize: 4, learningRate: 2e-5 },
  lora: { ...PRESET, batchSize: 4, learningRate: 2e-4 },
};

/**
 * The config with every default filled in; the same on every engine. Pure.
 * @param linear what `lora` adapts as `"all-linear"`; none on an engine without adapters
 */
export function withDefaults(
  asked: AskedConfig,
  engine: EngineSettings,
  linear: readonly string[] = [],
): TrainConfig {
  const { model = MODEL, dataset, lora, maxLength, numTrainEpochs } = asked;
  const { maxSteps = numTrainEpochs === undefined ? MAX_STEPS : undefined } = asked;
  const chosen = { ...ARGUMENTS[kindOf(model, lora)], ...givenArguments(asked) };
  const { evalDataset, evalSplit, evalSteps = chosen.saveSteps } = asked;
  return {
    ...chosen,
    engine,
    model,
    dataset,
    maxSteps,
    numTrainEpochs,
    evalDataset,
    evalSplit,
    evalSteps,
    lora: lora && loraWithDefaults(lora, linear),
    maxLength,
    // An option that is missing here would be accepted and lost.
  } satisfies Record<keyof AskedConfig | keyof TrainConfig, unknown>;
}

/** As those who fine-tune with PEFT mostly choose; docs/models.md has what they teach. */
function loraWithDefaults(
  { r = 16, alpha = 2 * r, targetModules = ALL_LINEAR, ...rest }: AskedLora,
  linear: readonly string[],
): LoraConfig {
  const isAll = targetModules === ALL_LINEAR || targetModules[0] === ALL_LINEAR;
  return { ...rest, r, alpha, targetModules: [...(isAll ? linear : targetModules)] };
}

/** Whatever `lora` says, a model with random weights has nothing to forget. */
function kindOf(model: NonNullable<AskedConfig["model"]>, lora: AskedConfig["lora"]): Kind {
  if (!isPretrained(model)) return "preset";
  return lora ? "lora" : "pretrained";
}

function givenArguments(asked: Partial<TrainingArguments>): Partial<TrainingArguments> {
  return Object.fromEntries(
    Object.entries(asked).filter(([name, value]) => name in PRESET && value !== undefined),
  );
}
