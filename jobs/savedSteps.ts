import { isRecord } from "../protocol/isRecord.ts";
import { readJobStart } from "./jobStart.ts";
import { readWholeLog } from "./wholeLog.ts";

/**
 * Whether a job may have saved a checkpoint of a step: its log says so, or it ended before it could,
 * after a later one than the log's newest.
 */
export function savedSteps(directory: string): (step: number) => boolean {
  const { maxSteps } = readJobStart(directory).started;
  const most = typeof maxSteps === "number" ? maxSteps : Infinity;
  const told = new Set<unknown>();
  let newest = 0;
  for (const { event, data } of readWholeLog(directory)) {
    if (event !== "checkpoint.saved" || !isRecord(data)) continue;
    told.add(data["step"]);
    newest = Math.max(newest, Number(data["step"]));
  }
  return (step) => told.has(step) || (step > newest && step <= most);
}
