import type {
  AskedConfig,
  EngineSettings,
  TrainConfig,
  TrainingArguments,
} from "../protocol/trainConfig.ts";

const MODEL = "kit/nano";
const MAX_STEPS = 400;
const TARGET_MODULES = ["q_proj", "v_proj"];

/** Good for small models that start from random weights. */
const ARGUMENTS: TrainingArguments = {
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

/** The config with every default filled in; the same on every engine. Pure. */
export function withDefaults(asked: AskedConfig, engine: EngineSettings): TrainConfig {
  const { model = MODEL, dataset, lora, maxLength = null, numTrainEpochs = null } = asked;
  const { maxSteps = numTrainEpochs === null ? MAX_STEPS : null } = asked;
  const chosen = chosenArguments(asked);
  const { evalDataset = null, evalSplit = null, evalSteps = chosen.saveSteps } = asked;
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
    lora: lora ? { targetModules: TARGET_MODULES, ...lora } : null,
    maxLength,
    // An option that is missing here would be accepted and lost.
  } satisfies Record<keyof AskedConfig | keyof TrainConfig, unknown>;
}

function chosenArguments(asked: Partial<TrainingArguments>): TrainingArguments {
  const given = Object.entries(asked).filter(
    ([name, value]) => name in ARGUMENTS && value !== undefined,
  );
  return { ...ARGUMENTS, ...(Object.fromEntries(given) as Partial<TrainingArguments>) };
}
