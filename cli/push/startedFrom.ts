import { dirname, resolve } from "node:path";
import { isJobDirectory, readJobConfig } from "../../jobs/jobFile.ts";
import { type JobConfig, isModelPath, isPretrained } from "../../protocol/trainConfig.ts";

/** The hub's name of the model from which a job, or a chain of jobs, started. */
export function startedFrom(model: JobConfig["model"], project: string): string | undefined {
  if (!isPretrained(model)) return undefined;
  if (!isModelPath(model)) return model;
  const path = resolve(project, model);
  const directory = [path, dirname(path), dirname(dirname(path))].find(isJobDirectory);
  if (directory === undefined) return undefined;
  const before = readJobConfig(directory) as JobConfig | undefined;
  return before && startedFrom(before.model, resolve(directory, "../../.."));
}
