import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { ROW_FORMAT } from "../../../engines/dataset/row.ts";
import type { RowFormat } from "../../../engines/dataset/rowFormat.ts";
import type { InferResult } from "../../../protocol/infer.ts";
import { parseJson, stringifyJson } from "../../../protocol/json.ts";

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

/** Rows as a job's file has them. */
export function canonical(rows: object[], form: RowFormat<object> = ROW_FORMAT): string {
  const parsed = rows.map((row) => form.parse(parseJson(JSON.stringify(row)), "a row"));
  return parsed.map((row) => `${stringifyJson(row)}\n`).join("");
}

export function jsonl(rows: object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

/** An answer without its count of kept tokens, which depends on earlier requests. */
export function uncounted({ cachedTokens: _, ...answer }: InferResult) {
  return answer;
}
