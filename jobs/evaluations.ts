import { join } from "node:path";
import type { Evaluation } from "../protocol/evaluation.ts";
import { isRecord } from "../protocol/isRecord.ts";
import { isJobId } from "./id.ts";
import { type JobStart, haveSameHeldOut, readJobStart, resumedFrom } from "./jobStart.ts";
import type { LogRecord } from "./log.ts";
import { readWholeLog } from "./wholeLog.ts";

/**
 * A job's evaluations up to a step, in their order, as the logs have them: its own after those of the
 * job that it went on from, if they were on the same rows.
 * @param root the folder of all jobs
 */
export function readEvaluations(root: string, id: string, upTo: number): Evaluation[] {
  if (!isJobId(id)) return [];
  const directory = join(root, id);
  const start = readJobStart(directory);
  const before = evaluationsBefore(root, id, start);
  const own = [...evaluationsIn(readWholeLog(directory))];
  return [...before, ...own].filter(({ step }) => step <= upTo);
}

function evaluationsBefore(root: string, id: string, start: JobStart): Evaluation[] {
  const from = resumedFrom(start);
  // An id that is not older would lead in a circle.
  if (!from || from.id >= id || !isJobId(from.id)) return [];
  const isSame = haveSameHeldOut(start, readJobStart(join(root, from.id)));
  return isSame ? readEvaluations(root, from.id, from.step) : [];
}

function* evaluationsIn(records: Iterable<LogRecord>): Generator<Evaluation> {
  for (const { event, data } of records) {
    if (event !== "training.log" || !isRecord(data)) continue;
    const { step, evalLoss } = data;
    if (typeof step === "number" && typeof evalLoss === "number") yield { step, evalLoss };
  }
}
