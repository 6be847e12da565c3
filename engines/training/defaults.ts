import { defined } from "../../protocol/isRecord.ts";
import { type ObjectiveOptions, type ObjectiveConfig, rulesOf } from "../../protocol/objective.ts";
import {
  type TrainingOptions,
  type LoraTrainingOptions,
  type EngineSettings,
  type LoraConfig,
  type TrainConfig,
  ALL_LINEAR,
  isPretrained,
} from "../../protocol/trainConfig.ts";
import {
  type TrainingArguments,
  type TrainingKind,
  LENGTH_ARGUMENTS,
  TRAINING_ARGUMENTS,
  defaultsOf,
} from "../../protocol/trainerOptions.ts";

const MODEL = "kit/nano";

/**
 * The config with every default filled in; the same on every engine. Pure.
 * @param linear what `lora` adapts as `"all-linear"`; none on an engine without adapters
 */
export function withDefaults(
  asked: TrainingOptions,
  engine: EngineSettings,
  linear: readonly string[] = [],
): TrainConfig {
  const { model = MODEL, dataset, lora, maxLength, numTrainEpochs } = asked;
  const steps = numTrainEpochs === undefined ? LENGTH_ARGUMENTS.maxSteps.default : undefined;
  const { maxSteps = steps } = asked;
  const rules = rulesOf(asked.objective);
  const chosen = {
    ...defaultsOf(kindOf(model, lora)),
    ...(rules.learningRate && { learningRate: rules.learningRate[lora ? "lora" : "whole"] }),
    ...givenArguments(asked),
  };
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
    objective: asked.objective && objectiveWithDefaults(asked.objective),
    maxLength,
    // An option that is missing here would be accepted and lost.
  } satisfies Record<keyof TrainingOptions | keyof TrainConfig, unknown>;
}

/** `sft` is what a training without an objective learns. */
function objectiveWithDefaults(asked: ObjectiveOptions): TrainConfig["objective"] {
  const objective = { ...rulesOf(asked).defaults, ...defined(asked) } as ObjectiveConfig;
  return objective.type === "sft" ? undefined : objective;
}

/** As those who fine-tune with PEFT mostly choose; docs/models.md has what they teach. */
function loraWithDefaults(
  { r = 16, alpha = 2 * r, targetModules = ALL_LINEAR, ...rest }: LoraTrainingOptions,
  linear: readonly string[],
): LoraConfig {
  const isAll = targetModules === ALL_LINEAR || targetModules[0] === ALL_LINEAR;
  return { ...rest, r, alpha, targetModules: [...(isAll ? linear : targetModules)] };
}

/** Whatever `lora` says, a model with random weights has nothing to forget. */
function kindOf(
  model: NonNullable<TrainingOptions["model"]>,
  lora: TrainingOptions["lora"],
): TrainingKind {
  if (!isPretrained(model)) return "preset";
  return lora ? "lora" : "pretrained";
}

function givenArguments(asked: Partial<TrainingArguments>): Partial<TrainingArguments> {
  return Object.fromEntries(
    Object.entries(defined(asked)).filter(([name]) => name in TRAINING_ARGUMENTS),
  );
}
