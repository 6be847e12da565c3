import { randomBytes } from "node:crypto";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

/** Writes the whole file or nothing: a reader never sees half of it. */
export function writeFileAtomically(path: string, content: string, mode = 0o666): void {
  const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    writeFileSync(temporary, content, { mode });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** The file's JSON, or undefined when it is missing or does not parse. */
export function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    // Missing, torn by a crash of the machine, or not ours: for the caller there is none.
    return undefined;
  }
}
