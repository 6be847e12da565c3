import { join } from "node:path";
import * as v from "valibot";
import { type JobEvent, EVALUATED } from "../protocol/event.ts";
import { EVENT_SCHEMAS } from "../protocol/eventSchemas.ts";
import { isJobId } from "./id.ts";
import { type JobStart, haveSameHeldOutRows, readJobStart, resumedFrom } from "./jobStart.ts";
import { readLog } from "./log/read.ts";

export type MetricEvent = JobEvent<"training.log" | typeof EVALUATED>;

/**
 * Losses that a job logged up to a step, oldest first, after those of the job that it continues.
 * @param root the folder of all jobs
 */
export function* readLosses(root: string, id: string, upTo: number): Generator<number> {
  for (const { event, data } of readMetricEvents(root, id, upTo)) {
    if (event === "training.log" && typeof data.loss === "number") yield data.loss;
  }
}

/**
 * A job's evaluations up to a step, in log order, after those of the job that it continues, if they were
 * on the same rows.
 * @param root the folder of all jobs
 */
export function readEvaluations(root: string, id: string, upTo: number): MetricEvent[] {
  const known = new Map<string, MetricEvent>();
  for (const metricEvent of readMetricEvents(root, id, upTo, haveSameHeldOutRows)) {
    const { event, data } = metricEvent;
    if (event === "training.log" && typeof data.evalLoss !== "number") continue;
    const key = `${event} ${data.step}`;
    // A continuing job records the initial evaluation again.
    if (!known.has(key)) known.set(key, metricEvent);
  }
  return [...known.values()];
}

/** @param continues whether to include the metrics of the job that `job` resumed from */
function* readMetricEvents(
  root: string,
  id: string,
  upTo: number,
  continues: (job: JobStart, before: JobStart) => boolean = () => true,
): Generator<MetricEvent> {
  if (!isJobId(id)) return;
  const start = readJobStart(join(root, id));
  const resumed = resumedFrom(start);
  // Only older ids, to prevent cycles.
  if (
    resumed &&
    resumed.id < id &&
    isJobId(resumed.id) &&
    continues(start, readJobStart(join(root, resumed.id)))
  ) {
    yield* readMetricEvents(root, resumed.id, Math.min(resumed.step, upTo), continues);
  }
  for (const { event, data } of readLog(join(root, id))) {
    const isLog = event === "training.log" && v.is(EVENT_SCHEMAS[event], data);
    if (isLog && data.step <= upTo) yield { event, data };
    const isEvaluated = event === EVALUATED && v.is(EVENT_SCHEMAS[event], data);
    if (isEvaluated && data.step <= upTo) yield { event, data };
  }
}
