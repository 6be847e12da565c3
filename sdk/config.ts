import { isAbsolute, resolve } from "node:path";
import type { TrainConfig } from "../protocol/trainConfig.ts";
import type { CheckedOptions } from "./options.ts";

/** The config of a job, with paths made absolute against the project. */
export function resolveConfig(options: CheckedOptions, project: string): TrainConfig {
  const { model, dataset, lora, maxLength } = options;
  return {
    model: typeof model === "string" && isPath(model) ? resolve(project, model) : model,
    dataset: { type: dataset.type, path: resolve(project, dataset.path) },
    lora: lora ?? null,
    maxSteps: options.maxSteps,
    batchSize: options.batchSize,
    maxLength: maxLength ?? null,
    learningRate: options.learningRate,
    warmupSteps: options.warmupSteps,
    weightDecay: options.weightDecay,
    maxGradNorm: options.maxGradNorm,
    loggingSteps: options.loggingSteps,
    saveSteps: options.saveSteps,
    seed: options.seed,
  };
}

/** Whether a model is named by where its checkpoint lies. */
export function isPath(model: string): boolean {
  return model.startsWith(".") || isAbsolute(model);
}
