import { resolve } from "node:path";
import {
  type DatasetConfig,
  type DatasetPath,
  type JobConfig,
  isModelPath,
} from "../protocol/trainConfig.ts";

/** The config of a job: paths are made absolute against the project. */
export function resolveConfig(config: JobConfig, project: string): JobConfig {
  const { model, dataset, evalDataset } = config;
  return {
    ...config,
    model: typeof model === "string" && isModelPath(model) ? resolve(project, model) : model,
    dataset: resolveDataset(dataset, project),
    evalDataset: evalDataset && resolveDataset(evalDataset, project),
  };
}

function resolveDataset(dataset: DatasetConfig, project: string): DatasetConfig {
  return { ...dataset, path: resolvePaths(dataset.path, project) };
}

function resolvePaths(path: DatasetPath, project: string): DatasetPath {
  if (typeof path === "string") return resolve(project, path);
  return path.map((one) => resolve(project, one));
}
