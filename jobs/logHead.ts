import { readSync } from "node:fs";
import { usePlain } from "../disk/file.ts";
import { NEWLINE } from "../disk/newline.ts";
import { type LogRecord, parseRecord } from "./log.ts";

/** No record is longer. */
const MOST_BYTES = 64 * 1024;

/** The first record of a log; undefined when the log is missing or empty. */
export function readFirstRecord(path: string): LogRecord | undefined {
  return usePlain<LogRecord | undefined>(path, undefined, (file) => {
    const bytes = Buffer.alloc(MOST_BYTES);
    const length = readSync(file, bytes, 0, MOST_BYTES, 0);
    const end = bytes.subarray(0, length).indexOf(NEWLINE);
    return end < 0 ? undefined : parseRecord(bytes.toString("utf8", 0, end));
  });
}
