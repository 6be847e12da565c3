import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import { shellWord } from "../terminal/shell.ts";
import { readPackageJson } from "./packageJson.ts";

/** For each package manager: its own files, and its commands to add a package and to run one. */
const MANAGERS = {
  npm: {
    files: ["package-lock.json", "npm-shrinkwrap.json"],
    add: "npm install",
    run: "npx --no",
  },
  pnpm: {
    files: ["pnpm-lock.yaml", "pnpm-workspace.yaml"],
    add: "pnpm add",
    run: "pnpm exec",
  },
  yarn: { files: ["yarn.lock"], add: "yarn add", run: "yarn run" },
  bun: { files: ["bun.lock", "bun.lockb"], add: "bun add", run: "bun run" },
} as const;

export type PackageManager = keyof typeof MANAGERS;

const NAMES = Object.keys(MANAGERS) as PackageManager[];

/** A project's package manager, and the folder whose files show it. */
export interface DetectedManager {
  manager: PackageManager;
  /** Undefined if no folder shows it. */
  foundIn?: string;
}

/**
 * Finds the package manager of the project or of the nearest folder above it; falls back to the one
 * that runs this program, then to npm.
 * @param userAgent as package managers pass it to programs: `pnpm/10.2.0 npm/? node/…`
 */
export function detectPackageManager(
  project: string,
  userAgent = process.env.npm_config_user_agent ?? "",
): DetectedManager {
  for (let folder = project; ; folder = dirname(folder)) {
    const manager = packageManagerOf(folder);
    if (manager) return { manager, foundIn: folder };
    if (folder === dirname(folder)) return { manager: managerIn(userAgent, "/") ?? "npm" };
  }
}

/** The command that runs an installed `kit` and never fetches a package. */
export function runKitCommand(manager: PackageManager): string {
  return `${MANAGERS[manager].run} kit`;
}

/** The command that installs a package into a project. */
export function installCommand(project: string, name: string): string {
  return `${MANAGERS[detectPackageManager(project).manager].add} ${shellWord(name)}`;
}

function packageManagerOf(folder: string): PackageManager | undefined {
  const files = filesIn(folder);
  return (
    managerIn(readPackageJson(folder)?.packageManager, "@") ??
    NAMES.find((name) => MANAGERS[name].files.some((file) => files.includes(file)))
  );
}

function managerIn(text: unknown, separator: string): PackageManager | undefined {
  return NAMES.find((name) => typeof text === "string" && text.startsWith(name + separator));
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // The folder does not exist yet, or is not readable.
    return [];
  }
}
