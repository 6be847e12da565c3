import { join } from "node:path";
import * as v from "valibot";
import { type JobEvent, EVALUATED } from "../protocol/event.ts";
import { EVENT_SCHEMAS } from "../protocol/eventSchemas.ts";
import { isJobId } from "./id.ts";
import { type JobStart, haveSameHeldOut, readJobStart, resumedFrom } from "./jobStart.ts";
import type { LogRecord } from "./log.ts";
import { readWholeLog } from "./wholeLog.ts";

/** The events that say how good a model is. */
export type MeasuringEvent = JobEvent<"training.log" | typeof EVALUATED>;

/**
 * A job's evaluations up to a step, in their order, as the logs have them: its own after those of the
 * job that it went on from, if they were on the same rows.
 * @param root the folder of all jobs
 */
export function readEvaluations(root: string, id: string, upTo: number): MeasuringEvent[] {
  if (!isJobId(id)) return [];
  const directory = join(root, id);
  const start = readJobStart(directory);
  const before = evaluationsBefore(root, id, start);
  const known = new Set(before.map(keyOf));
  // A job that goes on from another records what is known of the start again.
  const own = [...evaluationsIn(readWholeLog(directory))].filter((one) => !known.has(keyOf(one)));
  return [...before, ...own].filter(({ data }) => data.step <= upTo);
}

/** Of equal keys, one says what the other does. */
export function keyOf({ event, data }: MeasuringEvent): string {
  return `${event} ${data.step}`;
}

function evaluationsBefore(root: string, id: string, start: JobStart): MeasuringEvent[] {
  const from = resumedFrom(start);
  // An id that is not older would lead in a circle.
  if (!from || from.id >= id || !isJobId(from.id)) return [];
  const isSame = haveSameHeldOut(start, readJobStart(join(root, from.id)));
  return isSame ? readEvaluations(root, from.id, from.step) : [];
}

function* evaluationsIn(records: Iterable<LogRecord>): Generator<MeasuringEvent> {
  for (const { event, data } of records) {
    if (event === EVALUATED && v.is(EVENT_SCHEMAS[event], data)) yield { event, data };
    if (event !== "training.log" || !v.is(EVENT_SCHEMAS[event], data)) continue;
    if (typeof data.evalLoss === "number") yield { event, data };
  }
}
