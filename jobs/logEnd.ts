import { stampOf, statsOf } from "../disk/file.ts";
import { readLastRecord, tryLogTail } from "./logTail.ts";
import { type DerivedStatus, finalStatus } from "./status.ts";

/** The end of a job's log. */
export interface LogEnd {
  hasRecords: boolean;
  /** How the job ended. */
  final?: DerivedStatus;
  /** The log's stamp from before it was read: empty when it is missing, undefined when unreadable. */
  stamp?: string;
}

export interface LogEnds {
  read: (path: string) => LogEnd;
  forget: (path: string) => void;
}

/** Reads the ends of logs. Rereads an unfinished job's log only when it has changed. */
export function createLogEnds(): LogEnds {
  const seen = new Map<string, LogEnd>();
  return {
    read(path) {
      const known = seen.get(path);
      if (!known) {
        // A finished job's log costs this one read, and most jobs are finished.
        const last = readLastRecord(path);
        const final = last && finalStatus([last.record]);
        if (final) return { hasRecords: true, final, stamp: last.stamp };
      }
      // Before reading: a write meanwhile changes the stamp.
      const stats = statsOf(path);
      const stamp = stats ? stampOf(stats) : "";
      if (known?.stamp === stamp) return known;
      const records = tryLogTail(path);
      // Only a log that isn't there stays the same as long as its stamp does.
      if (!records) return { hasRecords: false, stamp: stats ? undefined : "" };
      const end = { hasRecords: records.length > 0, final: finalStatus(records), stamp };
      // Also for a log without a record, so that a large one is not read each time.
      seen.set(path, end);
      return end;
    },
    forget: (path) => void seen.delete(path),
  };
}
