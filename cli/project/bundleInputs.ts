import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseRecord } from "../../protocol/isRecord.ts";

/**
 * Starts the comment at the end of a bundle: its source files with a digest of each one's content.
 * Not their times, which a checkout, a copy or a wrong clock changes.
 */
const MARK = "\n//# kitInputs=";

/** @param inputs relative to the project */
export function withInputs(code: string, project: string, inputs: string[]): string {
  const digests = Object.fromEntries(inputs.map((path) => [path, digestOf(join(project, path))]));
  return `${code.trimEnd()}${MARK}${JSON.stringify(digests)}\n`;
}

/** The files that changed since a bundle was built, relative to the project. */
export function changedInputs(bundle: string, project: string): string[] {
  const code = readFileSync(bundle, "utf8");
  // A bundle that an older Kit built has none.
  const digests = parseRecord(code.slice(code.lastIndexOf(MARK) + MARK.length));
  return Object.keys(digests).filter((path) => digestOf(join(project, path)) !== digests[path]);
}

/** Undefined if the file can't be read, so that a removed file counts as changed. */
function digestOf(path: string): string | undefined {
  try {
    return createHash("sha256").update(readFileSync(path)).digest("base64url");
  } catch {
    return undefined;
  }
}
