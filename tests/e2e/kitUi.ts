import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const CLI = fileURLToPath(new URL("../../dist/cli/kit.js", import.meta.url));

/** A real `kit ui` on a project, ended with the test. */
export interface KitUi {
  url: string;
  port: number;
  process: ChildProcess;
}

export async function startKitUi(project: string, port = 0): Promise<KitUi> {
  const child = spawnKit(project, "ui", "--no-open", "--port", String(port));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const url = /http:\S+/.exec(String(line))?.[0] ?? "";
  return { url, port: Number(new URL(url).port), process: child };
}

/** Runs a `kit` command to its end. Returns its exit code and what it printed. */
export async function runKit(
  project: string,
  ...args: string[]
): Promise<{ code: number | null; output: string }> {
  const child = spawnKit(project, ...args);
  let output = "";
  child.stdout.on("data", (chunk) => (output += String(chunk)));
  child.stderr.on("data", (chunk) => (output += String(chunk)));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}

/** A `kit` command in a project's folder, ended with the test. */
export function spawnKit(project: string, ...args: string[]): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [CLI, ...args], { cwd: project });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGTERM");
    await once(child, "exit");
  });
  return child;
}
