import { isArtifact } from "../protocol/engineReport.ts";
import type { Artifact } from "../protocol/event.ts";
import { isRecord } from "../protocol/isRecord.ts";
import { readLogTail } from "./logTail.ts";
import { logPath } from "./paths.ts";

/** The artifact that is a completed job's result; undefined for any other job. */
export function readResult(directory: string): Artifact | undefined {
  const end = readLogTail(logPath(directory)).findLast(
    ({ event }) => event === "training.completed",
  );
  const { artifacts } = isRecord(end?.data) ? end.data : {};
  const last: unknown = Array.isArray(artifacts) ? artifacts.at(-1) : undefined;
  return isArtifact(last) ? last : undefined;
}
