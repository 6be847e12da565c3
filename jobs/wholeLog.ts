import { readFileSync } from "node:fs";
import { usePlain } from "../disk/file.ts";
import { type LogRecord, recordsFrom } from "./log.ts";
import { logPath } from "./paths.ts";

/** All records of a job's log, in order; none if there is no log. */
export function readWholeLog(directory: string): LogRecord[] {
  return usePlain<LogRecord[]>(logPath(directory), [], (file) =>
    recordsFrom(0, readFileSync(file)).map(({ record }) => record),
  );
}
