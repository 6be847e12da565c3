import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const FOLDER = fileURLToPath(new URL("../../.trackers", import.meta.url));

/** Programs of the environment that `npm run trackers` makes. */
export const program = (name: string) => join(FOLDER, "bin", name);
export const hasTrackers = existsSync(join(FOLDER, "kit-requirements.txt"));

/** Runs Python code with the trackers; what it printed. */
export async function runPython(code: string, ...words: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program("python"), ["-c", code, ...words]);
  return stdout;
}
