import { stampOf, statsOf } from "../disk/file.ts";
import { readLastRecord, tryLogTail } from "./logTail.ts";
import { type DerivedStatus, finalStatus } from "./status.ts";

/** What a log says of its job. */
export interface LogEnd {
  hasRecords: boolean;
  /** How the job ended. */
  final?: DerivedStatus;
  /** The log's stamp from before it was read. */
  stamp: string;
}

export interface LogEnds {
  read: (path: string) => LogEnd;
  forget: (path: string) => void;
}

/** Reads the ends of logs; the log of an unfinished job again only when it has changed. */
export function createLogEnds(): LogEnds {
  const seen = new Map<string, LogEnd>();
  return {
    read(path) {
      const known = seen.get(path);
      if (!known) {
        // The log of a finished job is read once, so this is all that most jobs cost.
        const last = readLastRecord(path);
        const final = last && finalStatus([last.record]);
        if (final) return { hasRecords: true, final, stamp: last.stamp };
      }
      // Before reading: what is written meanwhile makes another stamp.
      const stats = statsOf(path);
      const stamp = stats ? stampOf(stats) : "";
      if (known?.stamp === stamp) return known;
      const tail = tryLogTail(path);
      const records = tail ?? [];
      const end = { hasRecords: records.length > 0, final: finalStatus(records), stamp };
      // Also one in which there is nothing of use.
      if (tail) seen.set(path, end);
      return end;
    },
    forget: (path) => void seen.delete(path),
  };
}
