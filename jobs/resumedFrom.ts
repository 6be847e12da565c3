import { isRecord } from "../protocol/isRecord.ts";
import { readFirstRecord } from "./logHead.ts";
import { logPath } from "./paths.ts";

/** Where a job began: after a step of an earlier one, by its id. */
export interface ResumedFrom {
  id: string;
  step: number;
}

/** Undefined for a job that began anew, or has not begun. */
export function resumedFrom(directory: string): ResumedFrom | undefined {
  const { event, data } = readFirstRecord(logPath(directory)) ?? {};
  if (event !== "training.started" || !isRecord(data)) return undefined;
  const { resumedFrom: id, resumedStep: step } = data;
  return typeof id === "string" && typeof step === "number" ? { id, step } : undefined;
}
