import { omitUndefined } from "../../protocol/isRecord.ts";
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

const DEFAULT_MODEL = "kit/nano";

/**
 * Fills in all defaults, the same on every engine. Pure.
 * @param linearNames what `"all-linear"` becomes in the config: the layers' names, or itself where PEFT resolves it
 */
export function withDefaults(
  options: TrainingOptions,
  engine: EngineSettings,
  linearNames: readonly string[] = [],
): TrainConfig {
  const { model = DEFAULT_MODEL, dataset, lora, maxLength, numTrainEpochs } = options;
  const steps = numTrainEpochs === undefined ? LENGTH_ARGUMENTS.maxSteps.default : undefined;
  const { maxSteps = steps } = options;
  const rules = rulesOf(options.objective);
  const chosen = {
    ...defaultsOf(kindOf(model, lora)),
    ...(rules.learningRate && { learningRate: rules.learningRate[lora ? "lora" : "whole"] }),
    ...givenArguments(options),
  };
  const { evalDataset, evalSplit, evalSteps = chosen.saveSteps } = options;
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
    lora: lora && loraWithDefaults(lora, linearNames),
    objective: options.objective && objectiveWithDefaults(options.objective),
    maxLength,
    // Type checking fails if an option is missing here, which would otherwise be silently ignored.
  } satisfies Record<keyof TrainingOptions | keyof TrainConfig, unknown>;
}

/** Undefined for `sft`, the default. */
function objectiveWithDefaults(options: ObjectiveOptions): TrainConfig["objective"] {
  const objective = { ...rulesOf(options).defaults, ...omitUndefined(options) } as ObjectiveConfig;
  return objective.type === "sft" ? undefined : objective;
}

/** Common choices, not PEFT's own defaults (`r` and `alpha` of 8). docs/models.md says why all linear layers. */
function loraWithDefaults(
  { r = 16, alpha = 2 * r, targetModules = ALL_LINEAR, ...rest }: LoraTrainingOptions,
  linearNames: readonly string[],
): LoraConfig {
  const isAll = targetModules === ALL_LINEAR || targetModules[0] === ALL_LINEAR;
  return { ...rest, r, alpha, targetModules: [...(isAll ? linearNames : targetModules)] };
}

/** A model with random weights has the preset's defaults (a higher learning rate) even with `lora`. */
function kindOf(
  model: NonNullable<TrainingOptions["model"]>,
  lora: TrainingOptions["lora"],
): TrainingKind {
  if (!isPretrained(model)) return "preset";
  return lora ? "lora" : "pretrained";
}

function givenArguments(options: Partial<TrainingArguments>): Partial<TrainingArguments> {
  return Object.fromEntries(
    Object.entries(omitUndefined(options)).filter(([name]) => name in TRAINING_ARGUMENTS),
  );
}
