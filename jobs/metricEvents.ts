import { join } from "node:path";
import * as v from "valibot";
import { isHeldOut } from "../protocol/evaluation.ts";
import { type JobEvent, EVALUATED } from "../protocol/event.ts";
import { EVENT_SCHEMAS } from "../protocol/eventSchemas.ts";
import { isJobId } from "./id.ts";
import { type JobStart, haveSameHeldOutRows, readJobStart, resumedFrom } from "./jobStart.ts";
import { readLog } from "./log/read.ts";

export type MetricEvent = JobEvent<"training.log" | typeof EVALUATED>;

/** A metric event and when it was logged, in ms since 1970. */
export type PastMetricEvent = MetricEvent & { at: number };

/**
 * Losses that a job logged up to a step, oldest first, after those of the job that it continues.
 * @param root the folder of all jobs
 */
export function* readLosses(root: string, id: string, upTo: number): Generator<number> {
  for (const { event, data } of readMetricEvents(segmentsOf(root, id, upTo))) {
    if (event === "training.log" && typeof data.loss === "number") yield data.loss;
  }
}

/**
 * A job's evaluations up to a step, in log order, after those of the job that it continues, if they were
 * on the same rows.
 * @param root the folder of all jobs
 */
export function readEvaluations(root: string, id: string, upTo: number): PastMetricEvent[] {
  const known = new Map<string, PastMetricEvent>();
  const comparable = segmentsOf(root, id, upTo).filter((segment) => segment.hasSameHeldOutRows);
  for (const metricEvent of readMetricEvents(comparable)) {
    const { event, data } = metricEvent;
    if (event === "training.log" && typeof data.evalLoss !== "number") continue;
    const key = `${event} ${data.step}`;
    // A continuing job records the initial evaluation again.
    if (!known.has(key)) known.set(key, metricEvent);
  }
  return [...known.values()];
}

/**
 * All that a job logged, after what it inherits.
 * @param root the folder of all jobs
 */
export function* readCurve(root: string, id: string): Generator<PastMetricEvent> {
  yield* readInherited(root, id);
  yield* readMetricEvents(segmentsOf(root, id, Infinity).slice(-1));
}

/**
 * What the jobs that a job continues logged up to its first step, oldest first, without evaluations on other
 * rows than its own.
 * @param root the folder of all jobs
 */
export function* readInherited(root: string, id: string): Generator<PastMetricEvent> {
  for (const segment of segmentsOf(root, id, Infinity).slice(0, -1)) {
    for (const past of readMetricEvents([segment])) {
      if (segment.hasSameHeldOutRows) yield past;
      else if (past.event === "training.log") yield withoutEvaluation(past);
    }
  }
}

function withoutEvaluation(past: PastMetricEvent & { event: "training.log" }): PastMetricEvent {
  const { evalLoss: _, metrics, ...data } = past.data;
  const trained = Object.entries(metrics ?? {}).filter(([name]) => !isHeldOut(name));
  return { ...past, data: { ...data, metrics: Object.fromEntries(trained) } };
}

/** The part of a curve that one job logged. */
interface Segment {
  directory: string;
  start: JobStart;
  /** The last step of this job that counts. */
  upTo: number;
  /** Whether its evaluations are on the same rows as those of the last job. */
  hasSameHeldOutRows: boolean;
}

/** A job after those that it continues, oldest first. */
function segmentsOf(root: string, id: string, upTo: number): Segment[] {
  if (!isJobId(id)) return [];
  const directory = join(root, id);
  const start = readJobStart(directory);
  const from = resumedFrom(start);
  // Only older ids, to prevent cycles.
  const isContinued = from && from.id < id;
  const before = isContinued ? segmentsOf(root, from.id, Math.min(from.step, upTo)) : [];
  const newest = before.at(-1);
  const isSame = newest !== undefined && haveSameHeldOutRows(start, newest.start);
  return [
    ...before.map((segment) => ({
      ...segment,
      hasSameHeldOutRows: segment.hasSameHeldOutRows && isSame,
    })),
    { directory, start, upTo, hasSameHeldOutRows: true },
  ];
}

function* readMetricEvents(segments: readonly Segment[]): Generator<PastMetricEvent> {
  for (const { directory, upTo } of segments) {
    for (const { event, time, data } of readLog(directory)) {
      const at = Date.parse(time ?? "");
      const isLog = event === "training.log" && v.is(EVENT_SCHEMAS[event], data);
      if (isLog && data.step <= upTo) yield { event, data, at };
      const isEvaluated = event === EVALUATED && v.is(EVENT_SCHEMAS[event], data);
      if (isEvaluated && data.step <= upTo) yield { event, data, at };
    }
  }
}
