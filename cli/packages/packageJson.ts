import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isRecord } from "../../protocol/isRecord.ts";

/** The parts of a `package.json` that `kit init` uses. */
export interface PackageJson {
  name?: string;
  packageManager?: unknown;
  scripts?: Record<string, string>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  /** For npm: whether a package, by name or `name@version`, may run its install script. */
  allowScripts?: Record<string, boolean>;
}

export const SECTIONS = ["scripts", "dependencies", "devDependencies"] as const;

/** Returns undefined if the folder has no valid `package.json`. */
export function readPackageJson(folder: string): PackageJson | undefined {
  try {
    return parsePackageJson(readFileSync(join(folder, "package.json"), "utf8"));
  } catch {
    // Missing or unreadable.
    return undefined;
  }
}

export function parsePackageJson(text: string): PackageJson | undefined {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ""));
    const isPackageJson =
      isRecord(value) && [...SECTIONS, "allowScripts"].every((name) => isRecord(value[name] ?? {}));
    return isPackageJson ? value : undefined;
  } catch {
    // Invalid JSON.
    return undefined;
  }
}
