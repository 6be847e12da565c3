import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A directory that lasts as long as the test. */
export function scratchDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "kit-engine-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** The path of a new file in a directory of its own. */
export function scratchFile(name: string, content: string | Uint8Array): string {
  const path = join(scratchDirectory(), name);
  writeFileSync(path, content);
  return path;
}

export function jsonl(rows: object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}
