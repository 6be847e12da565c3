import { join } from "node:path";
import { readJson, writeFileAtomically } from "../../disk/file.ts";
import { type RunEnd, isRunEnd } from "../../protocol/http.ts";
import { runDirectory } from "./record.ts";

const OWNER_ONLY = 0o600;

/** `end.json`: a file of its own, because a run may end before its server has recorded it. */
interface EndRecord {
  id: string;
  status: RunEnd;
}

/** How a run ended; undefined where nobody could say so, as when it was killed. */
export function readRunEnd(project: string, id: string): RunEnd | undefined {
  const record = readJson(endPath(project)) as Partial<EndRecord> | null | undefined;
  return record?.id === id && isRunEnd(record.status) ? record.status : undefined;
}

export function writeRunEnd(project: string, id: string, status: RunEnd): void {
  try {
    const record: EndRecord = { id, status };
    writeFileAtomically(endPath(project), JSON.stringify(record), OWNER_ONLY);
  } catch {
    // A full disk, say: the run shows as failed.
  }
}

function endPath(project: string): string {
  return join(runDirectory(project), "end.json");
}
