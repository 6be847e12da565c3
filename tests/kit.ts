import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { createProject } from "./project.ts";

export const CLI = fileURLToPath(new URL("../dist/cli/kit.js", import.meta.url));

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Command {
  child: ChildProcessByStdio<null, Readable, Readable>;
  /** Resolves with what was printed to both streams as soon as it matches. */
  printed: (pattern: RegExp) => Promise<string>;
  ended: Promise<Ended>;
}

/**
 * A real `kit` subprocess in a folder, killed with the test if it has not ended.
 * @param within a program and its arguments that turn into the one that follows
 */
export function startKit(
  cwd: string,
  args: string[],
  env: NodeJS.ProcessEnv = {},
  within: string[] = [],
): Command {
  const [program = "", ...rest] = [...within, process.execPath, CLI, ...args];
  const child = spawn(program, rest, {
    cwd,
    // In a session of its own: `nohup npm test` must not make it ignore SIGHUP.
    detached: true,
    env: { ...process.env, _: undefined, INIT_CWD: undefined, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const out = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].on("data", (chunk) => (out[name] += String(chunk)));
  }
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, ...out }));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  return {
    child,
    ended,
    printed: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const all = out.stdout + out.stderr;
          if (pattern.test(all)) resolve(all);
        };
        look();
        child.stdout.on("data", look);
        child.stderr.on("data", look);
        void ended.then(({ stdout, stderr }) =>
          reject(new Error(`${String(pattern)} was not printed:\n${stdout}${stderr}`)),
        );
      }),
  };
}

/** A `kit` command run to its end. */
export function runKit(cwd: string, args: string[], env?: NodeJS.ProcessEnv): Promise<Ended> {
  return startKit(cwd, args, env).ended;
}

/** Eight rows of a dataset. */
export const TINY_DATA = Array.from({ length: 8 }, (_, row) =>
  JSON.stringify({ prompt: `${row}`, completion: `${row}` }),
).join("\n");

/** A project whose training takes about a second, most of it compiling. */
export function createTinyProject(
  source: string = tinySource(),
  files: Record<string, string> = {},
): string {
  return createProject({
    "src/kit/index.ts": source,
    "data.jsonl": TINY_DATA,
    ...files,
  });
}

/** Source of `src/kit/index.ts`; options and callbacks are source too. */
export function tinySource({ name = "tiny", options = "", before = "" } = {}): string {
  return `import { createKit, createTrainer } from "kit";
${before}
export default createKit({
  trainer: createTrainer({
    name: ${JSON.stringify(name)},
    model: { layers: 1, heads: 1, width: 8, context: 32 },
    dataset: { type: "jsonl", path: "data.jsonl" },
    maxSteps: 4,
    batchSize: 2,
    warmupSteps: 1,
    loggingSteps: 1,
    saveSteps: 2,
    ${options}
  }),
});
`;
}

/** Options of a training that goes on until it is ended. */
export const ENDLESS = "maxSteps: 1_000_000, saveSteps: 1_000_000, loggingSteps: 50,";

const PACED_ENGINE = fileURLToPath(new URL("pacedEngine.ts", import.meta.url));

/** The same for a run that only has to go on: it takes no time from what is tested beside it. */
export function pacedSource({ options = "", before = "" } = {}): string {
  return tinySource({
    before: `import { createPacedEngine } from ${JSON.stringify(PACED_ENGINE)};\n${before}`,
    options: `${ENDLESS} engine: createPacedEngine(), ${options}`,
  });
}

/** Source before a trainer, for callbacks that wait at the `gate` until the test opens it. */
export const GATED = `import { existsSync } from "node:fs";
const gate = async () => {
  while (!existsSync("open")) await new Promise((resolve) => setTimeout(resolve, 20));
};
`;

export function openGate(project: string): void {
  writeFileSync(join(project, "open"), "");
}

export function closeGate(project: string): void {
  rmSync(join(project, "open"));
}

const REMOTE_ENGINE = fileURLToPath(new URL("remoteEngine.ts", import.meta.url));

/** A training that runs in the project's folder `far`, which stands for other machines. */
export function remoteSource({ options = "" } = {}): string {
  return tinySource({
    before: `import { createRemoteEngine } from ${JSON.stringify(REMOTE_ENGINE)};`,
    options: `engine: createRemoteEngine(process.cwd() + "/far"), ${options}`,
  });
}
