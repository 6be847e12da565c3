import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The parts of a `package.json` that matter here. */
export interface Manifest {
  name?: string;
  packageManager?: unknown;
  scripts?: Record<string, string>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  /** npm's: which packages may run their install scripts, by name or `name@version`. */
  allowScripts?: Record<string, boolean>;
}

export const SECTIONS = ["scripts", "dependencies", "devDependencies"] as const;

/** Returns undefined for a folder that has none to read. */
export function readManifest(folder: string): Manifest | undefined {
  try {
    return parseManifest(readFileSync(join(folder, "package.json"), "utf8"));
  } catch {
    // None, or not for us.
    return undefined;
  }
}

export function parseManifest(text: string): Manifest | undefined {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ""));
    const isManifest =
      isObject(value) && [...SECTIONS, "allowScripts"].every((name) => isObject(value[name] ?? {}));
    return isManifest ? value : undefined;
  } catch {
    // For its owner to mend.
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
