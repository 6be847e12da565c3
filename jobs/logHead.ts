import { readSync } from "node:fs";
import { readRegularFile } from "../disk/file.ts";
import { NEWLINE } from "../disk/newline.ts";
import { type LogRecord, MOST_RECORD_BYTES, parseRecord } from "./log.ts";

/** The first record of a log; undefined when the log is missing or empty. */
export function readFirstRecord(path: string): LogRecord | undefined {
  return readRegularFile<LogRecord | undefined>(path, undefined, (file) => {
    const bytes = Buffer.alloc(MOST_RECORD_BYTES);
    const length = readSync(file, bytes, 0, MOST_RECORD_BYTES, 0);
    const end = bytes.subarray(0, length).indexOf(NEWLINE);
    return end < 0 ? undefined : parseRecord(bytes.toString("utf8", 0, end));
  });
}
