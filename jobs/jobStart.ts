import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../protocol/isRecord.ts";
import { readJobConfig } from "./jobFile.ts";
import { findFirst, findNewest } from "./log/read.ts";
import { logPath } from "./paths.ts";

/** A job's start, as its Kit version wrote it; empty where missing. */
export interface JobStart {
  config: Record<string, unknown>;
  /** The data of its `training.started`. */
  started: Record<string, unknown>;
}

export function readJobStart(directory: string): JobStart {
  const { data } = findFirst(logPath(directory), "training.started") ?? {};
  const started = isRecord(data) ? data : {};
  return { config: readJobConfig(directory) ?? {}, started };
}

/** How much of a job's training is done, from 0 to 1; undefined if unknown. */
export function progressOf(directory: string): number | undefined {
  const newest = findNewest(logPath(directory), ({ event, data }) =>
    event === "training.log" && isRecord(data) ? data.step : undefined,
  );
  const { maxSteps, resumedStep } = readJobStart(directory).started;
  const progress = Number(newest?.found ?? resumedStep) / Number(maxSteps);
  return progress >= 0 && progress <= 1 ? progress : undefined;
}

export function hasStarted({ started }: JobStart): boolean {
  return Object.keys(started).length > 0;
}

/** The job, and its step, that another resumed from. */
export interface ResumedFrom {
  id: string;
  step: number;
}

/** Undefined for a job that did not resume another or has not started. */
export function resumedFrom({ started }: JobStart): ResumedFrom | undefined {
  const { resumedFrom: id, resumedStep: step } = started;
  return typeof id === "string" && typeof step === "number" ? { id, step } : undefined;
}

/** Whether two jobs train on the same rows, wherever their files are. */
export function haveSameRows(a: JobStart, b: JobStart): boolean {
  return areSame(a, b, "fingerprint", ["dataset"]);
}

/** Whether two jobs have the same held-out rows, so that their `evalLoss` is comparable. */
export function haveSameHeldOutRows(a: JobStart, b: JobStart): boolean {
  return areSame(a, b, "evalFingerprint", ["evalDataset", "evalSplit", "seed"]);
}

/** Compares fingerprints, or these options if an engine reported no fingerprint. */
function areSame(a: JobStart, b: JobStart, fingerprint: string, options: string[]): boolean {
  const [first, second] = [a.started[fingerprint], b.started[fingerprint]];
  if (first !== undefined && second !== undefined) return first === second;
  return options.every((name) =>
    isDeepStrictEqual(a.config[name] ?? undefined, b.config[name] ?? undefined),
  );
}
