import { resolve } from "node:path";
import type { DatasetConfig, DatasetPath } from "../../protocol/dataset.ts";
import { type JobConfig, isModelPath } from "../../protocol/trainConfig.ts";
import { isUrl } from "../../protocol/url.ts";

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
  const absolute = (one: string) => (isUrl(one) ? one : resolve(project, one));
  return typeof path === "string" ? absolute(path) : path.map(absolute);
}
