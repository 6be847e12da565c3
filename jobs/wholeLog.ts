import { readFileSync } from "node:fs";
import { usePlain } from "../disk/file.ts";
import { type LogRecord, recordsFrom } from "./log.ts";
import { logPath } from "./paths.ts";

/** Reads a job's records, oldest first; a missing log has none. */
export function readWholeLog(directory: string): LogRecord[] {
  return usePlain<LogRecord[]>(logPath(directory), [], (file) =>
    recordsFrom(0, readFileSync(file)).map(({ record }) => record),
  );
}
