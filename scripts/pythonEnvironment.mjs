import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./files.mjs";

/** The folder that `npm run python` makes, which git ignores. */
export const ENVIRONMENT = join(ROOT, ".python");

/** Its packages. */
export const LIST = join(ROOT, "bench", "python", "requirements.txt");

/** Holds the list that the environment was made from. */
export const STAMP = join(ENVIRONMENT, "kit-requirements.txt");

/** Whether it was made from today's list. */
export function isComplete() {
  return existsSync(STAMP) && readFileSync(STAMP, "utf8") === readFileSync(LIST, "utf8");
}
