import { join } from "node:path";
import { writeFileAtomically } from "../../disk/file.ts";
import { readRecord } from "../../disk/json.ts";
import { isJobId } from "../../jobs/id.ts";
import { type RunEnd, isRunEnd } from "../../protocol/http.ts";
import { runDirectory } from "./record.ts";

/** `end.json`. Separate from `run.json`, which the server may write after the run has ended. */
interface EndRecord {
  id: string;
  status: RunEnd;
  /** The run's job, if other machines still train it. The process that follows the job continues the run. */
  job?: string | undefined;
}

/**
 * Reads how a run ended. Returns undefined if nothing was recorded, for example because the run was
 * killed before other machines took its job.
 */
export function readRunEnd(project: string, id: string): Omit<EndRecord, "id"> | undefined {
  const record: Partial<Record<keyof EndRecord, unknown>> = readRecord(endPath(project)) ?? {};
  const { status, job } = record;
  if (record.id !== id || !isRunEnd(status)) return undefined;
  return { status, job: typeof job === "string" && isJobId(job) ? job : undefined };
}

export function writeRunEnd(project: string, record: EndRecord): void {
  try {
    writeFileAtomically(endPath(project), JSON.stringify(record));
  } catch {
    // A full disk, say: the run shows as failed.
  }
}

function endPath(project: string): string {
  return join(runDirectory(project), "end.json");
}
