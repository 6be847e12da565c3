import { readSync } from "node:fs";
import { readRegularFile } from "../disk/file.ts";
import { NEWLINE } from "../disk/newline.ts";
import { type LogRecord, MOST_RECORD_BYTES, parseRecord } from "./log.ts";

/** The first record of an event that lies in the first 128 KiB: the model may be asked before the training. */
export function readFirstRecord(path: string, event: string): LogRecord | undefined {
  return readRegularFile<LogRecord | undefined>(path, undefined, (file) => {
    const bytes = Buffer.alloc(2 * MOST_RECORD_BYTES);
    const read = bytes.subarray(0, readSync(file, bytes, 0, bytes.length, 0));
    for (let start = 0, end; (end = read.indexOf(NEWLINE, start)) >= 0; start = end + 1) {
      const record = parseRecord(read.toString("utf8", start, end));
      if (record?.event === event) return record;
    }
    return undefined;
  });
}
