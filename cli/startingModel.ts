import { type JobConfig, isModelPath } from "../protocol/trainConfig.ts";
import { checkOptions } from "../sdk/options.ts";
import { findJob } from "./findJob.ts";
import { findModel } from "./infer/findModel.ts";

/** The word for the model that a job began with. */
export const BASE = "base";

/** Whether a name is one of the hub's, and of nothing here. */
export function isHubName(project: string, named: string): boolean {
  return named.includes("/") && !isModelPath(named) && !isKnown(project, named);
}

function isKnown(project: string, named: string): boolean {
  try {
    findModel(project, named, () => undefined);
    return true;
  } catch {
    return findJob(project, named) !== undefined;
  }
}

/** Of a model that no job has trained. */
export function configOf(model: string): JobConfig {
  return checkOptions({ name: "model", model, dataset: [] }).config;
}
