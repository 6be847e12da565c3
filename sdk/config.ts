import { resolve } from "node:path";
import { type TrainConfig, isModelPath } from "../protocol/trainConfig.ts";

/** The config of a job: paths are made absolute against the project. */
export function resolveConfig(config: TrainConfig, project: string): TrainConfig {
  const { model, dataset } = config;
  return {
    ...config,
    model: typeof model === "string" && isModelPath(model) ? resolve(project, model) : model,
    dataset: { ...dataset, path: resolve(project, dataset.path) },
  };
}
