import type {
  AskedConfig,
  EngineSettings,
  TrainConfig,
  TrainingArguments,
} from "../protocol/trainConfig.ts";

const MODEL = "kit/nano";
const TARGET_MODULES = ["q_proj", "v_proj"];

/** Good for small models that start from random weights. */
const ARGUMENTS: TrainingArguments = {
  maxSteps: 400,
  batchSize: 32,
  learningRate: 4e-3,
  warmupSteps: 20,
  weightDecay: 0.01,
  maxGradNorm: 1,
  loggingSteps: 5,
  saveSteps: 100,
  seed: 42,
};

/** The config with every default filled in; the same on every engine. Pure. */
export function withDefaults(asked: AskedConfig, engine: EngineSettings): TrainConfig {
  const { model = MODEL, dataset, lora, maxLength = null } = asked;
  const chosen = { ...ARGUMENTS };
  for (const name of Object.keys(chosen) as (keyof TrainingArguments)[]) {
    chosen[name] = asked[name] ?? chosen[name];
  }
  return {
    ...chosen,
    engine,
    model,
    dataset,
    lora: lora ? { targetModules: TARGET_MODULES, ...lora } : null,
    maxLength,
    // An option that is missing here would be accepted and lost.
  } satisfies Record<keyof AskedConfig | keyof TrainConfig, unknown>;
}
