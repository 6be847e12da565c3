import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The npm that runs the tests, which need not be on the PATH. */
export const NPM = process.env.npm_execpath
  ? [process.execPath, process.env.npm_execpath]
  : ["npm"];

/** As in a terminal: `npm test` tells what it runs of its own folder. */
const TERMINAL = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(npm_|INIT_CWD$)/.test(name) || /^npm_config_(cache|registry)$/.test(name),
  ),
);

export interface Packed {
  filename: string;
  files: { path: string }[];
}

/** A program in a process group of its own, and what it has printed so far. */
export interface Started {
  child: ChildProcessByStdio<null, Readable, Readable>;
  out: { stdout: string; stderr: string };
  /** Ends the whole group as Ctrl-C does; resolves when its output is closed. */
  stop: () => Promise<void>;
}

export function start(
  cwd: string,
  command: string[],
  env: Record<string, string | undefined> = {},
): Started {
  const [program = "", ...args] = command;
  const child = spawn(program, args, {
    cwd,
    env: { ...TERMINAL, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const closed = once(child, "close");
  const out = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => (out.stdout += String(chunk)));
  child.stderr.on("data", (chunk) => (out.stderr += String(chunk)));
  const stop = async () => {
    if (child.pid && child.exitCode === null) process.kill(-child.pid, "SIGINT");
    await closed;
  };
  return { child, out, stop };
}

/** Runs a program to its end and returns its output. */
export async function run(
  cwd: string,
  command: string[],
  env: Record<string, string | undefined> = {},
): Promise<string> {
  const { child, out } = start(cwd, command, env);
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`${command.join(" ")}: ${code}\n${out.stdout}${out.stderr}`);
  return out.stdout;
}

/** A new folder outside of any project. */
export function createFolder(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), "kit-package-")));
}

/** Packs what is built, as npm does but for the build; the package lies in the folder then. */
export async function pack(folder: string): Promise<Packed> {
  const args = ["pack", "--ignore-scripts", "--json", "--pack-destination", folder];
  const [packed] = JSON.parse(await run(ROOT, [...NPM, ...args])) as [Packed];
  return packed;
}
