import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * A comment at the end of a bundle: the files that it was made of, each with a digest of its
 * content. By its content, for what a checkout, a copy or a wrong clock does to a file's time.
 */
const MARK = "\n//# kitInputs=";

/** @param inputs relative to the project */
export function withInputs(code: string, project: string, inputs: string[]): string {
  const digests = Object.fromEntries(inputs.map((path) => [path, digestOf(join(project, path))]));
  return `${code.trimEnd()}${MARK}${JSON.stringify(digests)}\n`;
}

/** The files that are no longer what a bundle was made of, relative to the project. */
export function changedInputs(bundle: string, project: string): string[] {
  const code = readFileSync(bundle, "utf8");
  const digests = parse(code.slice(code.lastIndexOf(MARK) + MARK.length));
  return Object.keys(digests).filter((path) => digestOf(join(project, path)) !== digests[path]);
}

/** Undefined for what cannot be read: one that is gone has changed. */
function digestOf(path: string): string | undefined {
  try {
    return createHash("sha256").update(readFileSync(path)).digest("base64url");
  } catch {
    return undefined;
  }
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    // Of a Kit that noted none.
    return {};
  }
}
