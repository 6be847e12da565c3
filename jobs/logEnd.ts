import { lstatSync } from "node:fs";
import { readLastRecord, readLogTail } from "./logTail.ts";
import { type DerivedStatus, finalStatus } from "./status.ts";

/** What a log says of its job. */
export interface LogEnd {
  hasRecords: boolean;
  /** How the job ended. */
  final?: DerivedStatus;
}

export interface LogEnds {
  read: (path: string) => LogEnd;
  forget: (path: string) => void;
}

/** Reads the ends of logs; the log of an unfinished job again only when it has changed. */
export function createLogEnds(): LogEnds {
  const seen = new Map<string, { stamp: string; end: LogEnd }>();
  return {
    read(path) {
      const known = seen.get(path);
      if (!known) {
        // The log of a finished job is read once, so this is all that most jobs cost.
        const last = readLastRecord(path);
        const final = last && finalStatus([last]);
        if (final) return { hasRecords: true, final };
      }
      // Before reading: what is written meanwhile makes another stamp.
      const stamp = stampOf(path);
      if (known?.stamp === stamp) return known.end;
      const records = readLogTail(path);
      const end = { hasRecords: records.length > 0, final: finalStatus(records) };
      seen.set(path, { stamp, end });
      return end;
    },
    forget: (path) => void seen.delete(path),
  };
}

/** Changes with what is in the file. */
function stampOf(path: string): string {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats ? `${stats.ino} ${stats.size} ${stats.mtimeMs}` : "";
}
