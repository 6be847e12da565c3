import { closeSync, readSync } from "node:fs";
import { cannotRead, openIfThere } from "../disk/file.ts";
import { type LogRecord, createLineCutter, recordsIn } from "./log.ts";
import { logPath } from "./paths.ts";

const CHUNK_BYTES = 1024 * 1024;

/**
 * A job's records, oldest first, however long its log is; a missing log has none.
 * @throws KitError `CANNOT_READ`: treating it as empty would report its events again
 */
export function* readWholeLog(directory: string): Generator<LogRecord> {
  const path = logPath(directory);
  const file = openIfThere(path);
  if (file === undefined) return;
  const cut = createLineCutter();
  const chunk = Buffer.alloc(CHUNK_BYTES);
  try {
    for (let length; (length = readChunk(file, chunk, path)) > 0;) {
      const lines = cut(chunk.subarray(0, length));
      if (lines) for (const { record } of recordsIn(lines)) yield record;
    }
  } finally {
    closeSync(file);
  }
}

function readChunk(file: number, chunk: Buffer, path: string): number {
  try {
    return readSync(file, chunk);
  } catch (cause) {
    throw cannotRead(path, cause);
  }
}
