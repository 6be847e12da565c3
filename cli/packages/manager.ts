import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import { shellWord } from "../shell.ts";
import { readManifest } from "./packageJson.ts";

/** The files that only one package manager writes, how it adds a package and runs what is installed. */
const KNOWN = {
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

export type PackageManager = keyof typeof KNOWN;

const NAMES = Object.keys(KNOWN) as PackageManager[];

/** What a project is installed with, and the folder that shows it. */
export interface Installation {
  manager: PackageManager;
  /** Undefined where no folder shows it. */
  shownBy?: string;
}

/**
 * What the project's folder or the nearest above it shows, else what runs this program, else npm.
 * @param userAgent what a package manager tells the programs it runs: `pnpm/10.2.0 npm/? node/…`
 */
export function findInstallation(
  project: string,
  userAgent = process.env.npm_config_user_agent ?? "",
): Installation {
  for (let folder = project; ; folder = dirname(folder)) {
    const manager = packageManagerOf(folder);
    if (manager) return { manager, shownBy: folder };
    if (folder === dirname(folder)) return { manager: nameIn(userAgent, "/") ?? "npm" };
  }
}

/** The shell's words to run an installed `kit`; none of them fetches a package. */
export function runKit(manager: PackageManager): string {
  return `${KNOWN[manager].run} kit`;
}

/** The shell's words to install a package into a project. */
export function addPackage(project: string, name: string): string {
  return `${KNOWN[findInstallation(project).manager].add} ${shellWord(name)}`;
}

function packageManagerOf(folder: string): PackageManager | undefined {
  const files = filesIn(folder);
  return (
    nameIn(readManifest(folder)?.packageManager, "@") ??
    NAMES.find((name) => KNOWN[name].files.some((file) => files.includes(file)))
  );
}

function nameIn(text: unknown, end: string): PackageManager | undefined {
  return NAMES.find((name) => typeof text === "string" && text.startsWith(name + end));
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // Not made yet, or not for us to read.
    return [];
  }
}
