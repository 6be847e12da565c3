import { join } from "node:path";
import { writeFileAtomically } from "../../disk/file.ts";
import { readRecord } from "../../disk/json.ts";
import { type RunEnd, isRunEnd } from "../../protocol/http.ts";
import { runDirectory } from "./record.ts";

/** `end.json`. Separate from `run.json`, which the server may write after the run has ended. */
interface EndRecord {
  id: string;
  status: RunEnd;
}

/** How a run ended; undefined when nothing recorded it, as when it was killed. */
export function readRunEnd(project: string, id: string): RunEnd | undefined {
  const record: Partial<Record<keyof EndRecord, unknown>> = readRecord(endPath(project)) ?? {};
  return record.id === id && isRunEnd(record.status) ? record.status : undefined;
}

export function writeRunEnd(project: string, id: string, status: RunEnd): void {
  try {
    const record: EndRecord = { id, status };
    writeFileAtomically(endPath(project), JSON.stringify(record));
  } catch {
    // A full disk, say: the run shows as failed.
  }
}

function endPath(project: string): string {
  return join(runDirectory(project), "end.json");
}
