import { resolve } from "node:path";
import { type DatasetPath, type TrainConfig, isModelPath } from "../protocol/trainConfig.ts";

/** The config of a job: paths are made absolute against the project. */
export function resolveConfig(config: TrainConfig, project: string): TrainConfig {
  const { model, dataset } = config;
  return {
    ...config,
    model: typeof model === "string" && isModelPath(model) ? resolve(project, model) : model,
    dataset: { ...dataset, path: resolvePaths(dataset.path, project) },
  };
}

function resolvePaths(path: DatasetPath, project: string): DatasetPath {
  if (typeof path === "string") return resolve(project, path);
  return path.map((one) => resolve(project, one));
}
