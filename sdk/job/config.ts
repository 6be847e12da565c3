import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { DatasetConfig, DatasetPath } from "../../protocol/dataset.ts";
import { KitError, isKitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { type JobConfig, isModelPath } from "../../protocol/trainConfig.ts";
import { type OnResume, PLAIN_OPTIONS, fieldOf } from "../../protocol/trainerOptions.ts";
import { isUrl } from "../../protocol/url.ts";

/** Makes a config's paths absolute. */
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
  const absolute = (each: string) => (isUrl(each) ? each : resolve(project, each));
  return typeof path === "string" ? absolute(path) : path.map(absolute);
}

/** An engine's error with the original row locations. */
export function withRestoredLocations(
  error: unknown,
  restoreLocations: (text: string) => string,
): unknown {
  if (!isKitError(error)) return error;
  const message = restoreLocations(error.message);
  return message === error.message ? error : new KitError(error.code, message, { cause: error });
}

const EFFECTS: Record<keyof JobConfig, OnResume> = {
  ...fieldOf(PLAIN_OPTIONS, "onResume"),
  model: "impossible",
  lora: "impossible",
  engine: "other losses",
  objective: "other losses",
  // Compared by their rows once read: files may have moved with the project.
  dataset: "none",
  evalDataset: "none",
  evaluate: "none",
};

/**
 * Names of the options that changed since a job, by effect. Pure except for model paths.
 * @param before the config as the job's Kit version wrote it
 */
export function changedOptions(
  before: Record<string, unknown>,
  config: JobConfig,
): { impossible: string[]; other: string[] } {
  if (Object.keys(before).length === 0) return { impossible: [], other: [] };
  const now = asWritten(config);
  const changed = (Object.keys(EFFECTS) as (keyof JobConfig)[]).filter(
    (name) =>
      !isDeepStrictEqual(before[name] ?? undefined, now[name]) &&
      !(name === "model" && hasMoved(before, now)),
  );
  const isOther = nameOf(before["engine"]) !== config.engine.name;
  const impossible = changed.filter(
    (name) => EFFECTS[name] === "impossible" || (name === "engine" && isOther),
  );
  const other = changed.filter(
    (name) => EFFECTS[name] === "other losses" && !impossible.includes(name),
  );
  return { impossible, other };
}

/** The config as `job.json` has it. */
export function asWritten(config: JobConfig): Record<string, unknown> {
  return JSON.parse(JSON.stringify(config)) as Record<string, unknown>;
}

/** Whether a model's folder has moved, as with its project; the engine compares the models. */
function hasMoved({ model: before }: Record<string, unknown>, now: Record<string, unknown>) {
  return isPath(before) && isPath(now["model"]) && !existsSync(before);
}

function isPath(model: unknown): model is string {
  return typeof model === "string" && isModelPath(model);
}

function nameOf(engine: unknown): unknown {
  return isRecord(engine) ? engine["name"] : undefined;
}
