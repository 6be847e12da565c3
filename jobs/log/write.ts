import { closeSync, fstatSync, readSync, writeSync } from "node:fs";
import { APPEND_FLAGS, openRegular, NEWLINE } from "../../disk/file.ts";
import { KitError } from "../../protocol/error.ts";
import type { JobEvent } from "../../protocol/event.ts";
import { type LogRecord, MAX_RECORD_BYTES } from "./lines.ts";

export interface LogWriter {
  /**
   * Writes an event synchronously. Non-finite numbers become null.
   * @throws KitError `CANNOT_WRITE` for a too long or partially written record, or a deleted file
   */
  append: (event: JobEvent) => void;
  /** Idempotent. */
  close: () => void;
}

/** Opens a log for its only writer. A newline ends a torn last line before the first event. */
export function openLog(path: string): LogWriter {
  const file = openRegular(path, APPEND_FLAGS);
  let isTorn = endsTorn(file);
  let isOpen = true;
  return {
    append({ event, data }) {
      const record: LogRecord = { event, time: new Date().toISOString(), data };
      // A closed descriptor may have been reused.
      if (!isOpen)
        throw new KitError(
          "LOG_CLOSED",
          `The log ${path} is closed: its job has ended. Start another.`,
        );
      if (fstatSync(file).nlink === 0) {
        // A write would still succeed, but nobody could read it.
        throw new KitError(
          "CANNOT_WRITE",
          `${path} was deleted while its job was running. Start it again.`,
        );
      }
      const line = Buffer.from(`${isTorn ? "\n" : ""}${JSON.stringify(record)}\n`);
      if (line.length > MAX_RECORD_BYTES) {
        throw new KitError(
          "CANNOT_WRITE",
          `Cannot write ${path}: a record of ${event} would take ${Math.ceil(line.length / 1024)} KiB, and takes ${MAX_RECORD_BYTES / 1024} at most. Have the engine report less.`,
        );
      }
      isTorn = writeSync(file, line) < line.length;
      if (isTorn) {
        throw new KitError(
          "CANNOT_WRITE",
          `Cannot write ${path}: the disk is full. Free disk space.`,
        );
      }
    },
    close() {
      if (isOpen) closeSync(file);
      isOpen = false;
    },
  };
}

function endsTorn(file: number): boolean {
  const { size } = fstatSync(file);
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  readSync(file, last, 0, 1, size - 1);
  return last[0] !== NEWLINE;
}
