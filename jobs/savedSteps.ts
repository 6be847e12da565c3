import { isRecord } from "../protocol/isRecord.ts";
import { readJobStart } from "./jobStart.ts";
import { readWholeLog } from "./wholeLog.ts";

/**
 * Returns a test for steps whose checkpoint the job can have saved: those in its log, and later ones, because
 * the job may have died between saving and logging.
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
