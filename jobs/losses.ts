import { dirname, join } from "node:path";
import * as v from "valibot";
import { EVENT_SCHEMAS } from "../protocol/eventSchemas.ts";
import { isJobId } from "./id.ts";
import { readJobStart, resumedFrom } from "./jobStart.ts";
import { readWholeLog } from "./wholeLog.ts";

/**
 * The losses that a job has logged up to a step, oldest first: its own after those of the job that it
 * went on from.
 * @param directory the job's
 */
export function* readLosses(directory: string, id: string, upTo: number): Generator<number> {
  if (!isJobId(id)) return;
  const from = resumedFrom(readJobStart(directory));
  // An id that is not older would lead in a circle.
  if (from && from.id < id)
    yield* readLosses(join(dirname(directory), from.id), from.id, Math.min(from.step, upTo));
  for (const { event, data } of readWholeLog(directory)) {
    if (event !== "training.log" || !v.is(EVENT_SCHEMAS[event], data)) continue;
    if (data.step <= upTo && typeof data.loss === "number") yield data.loss;
  }
}
