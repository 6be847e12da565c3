import { join } from "node:path";
import { numbersIn } from "../protocol/isRecord.ts";
import type { Job } from "../protocol/job.ts";
import {
  type MetricProgress,
  type Progress,
  NO_PROGRESS,
  reduceProgress,
} from "../protocol/progress.ts";
import { readJobStart, resumedFrom } from "./jobStart.ts";
import { readLog } from "./log/read.ts";
import { jobsPath } from "./paths.ts";

/** A loss's last value, and its best with the step that reached it first. */
export interface LossSummary {
  last: number;
  best: number;
  bestStep: number;
}

/** A job's options, data and results. Anything missing from its files is undefined. */
export interface JobSummary extends Job {
  resumedFrom?: string | undefined;
  /** Options from `job.json`. */
  options: Record<string, unknown>;
  data: {
    rows?: number | undefined;
    /** Hash of the rows. */
    fingerprint?: string | undefined;
    evalRows?: number | undefined;
    evalFingerprint?: string | undefined;
  };
  /** Steps so far, and of the whole job. */
  step?: number | undefined;
  steps?: number | undefined;
  /** Time from the start of the first step (or of the initial evaluation) to the last event. */
  seconds?: number | undefined;
  loss?: LossSummary | undefined;
  evalLoss?: LossSummary | undefined;
  /** The objective's last metrics by name. */
  metrics?: Record<string, number> | undefined;
  /** Metrics of `evaluate` by name. */
  evaluated?: Record<string, MetricProgress> | undefined;
}

/** Reads a job's whole log. @throws KitError `CANNOT_READ` */
export function summarizeJob(project: string, job: Job): JobSummary {
  const directory = join(jobsPath(project), job.id);
  const start = readJobStart(directory);
  const { fingerprint, evalFingerprint } = start.started;
  const { rows, evalRows } = numbersIn(start.started);
  let progress: Progress = NO_PROGRESS;
  let loss: LossSummary | undefined;
  for (const { event, data, time = "" } of readLog(directory)) {
    progress = reduceProgress(progress, { event, data, at: Date.parse(time) });
    if (event === "training.log") loss = withLoss(loss, numbersIn(data));
  }
  const { startedAt, at, best, evalLoss: last } = progress;
  const isEvaluated = best !== undefined && last !== undefined;
  return {
    ...job,
    resumedFrom: resumedFrom(start)?.id,
    options: start.config,
    data: {
      rows,
      fingerprint: textOf(fingerprint),
      evalRows,
      evalFingerprint: textOf(evalFingerprint),
    },
    step: progress.last?.step,
    steps: progress.steps,
    seconds: startedAt === undefined || at === undefined ? undefined : (at - startedAt) / 1000,
    loss,
    evalLoss: isEvaluated ? { last, best: best.evalLoss, bestStep: best.step } : undefined,
    metrics: progress.metrics,
    evaluated: progress.evaluated,
  };
}

function withLoss(
  before: LossSummary | undefined,
  { loss: last, step = NaN }: Record<string, number>,
): LossSummary | undefined {
  if (last === undefined) return before;
  return before && before.best <= last ? { ...before, last } : { last, best: last, bestStep: step };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
