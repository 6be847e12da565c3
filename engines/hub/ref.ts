import { readSync } from "node:fs";
import { readRegularFile } from "../../disk/file.ts";
import { isCommit } from "./hubName.ts";

/** A commit's id, and room for more, which would show that it is none. */
const MOST_BYTES = 64;

/** The commit that a branch led to; undefined without a file that says so. */
export function readRef(path: string): string | undefined {
  const bytes = Buffer.alloc(MOST_BYTES);
  const read = readRegularFile(path, 0, (file) => readSync(file, bytes));
  const commit = bytes.toString("utf8", 0, read).trim();
  return isCommit(commit) ? commit : undefined;
}
