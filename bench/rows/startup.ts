import { type ChildProcess, spawnSync } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { ratioAtMost } from "../goals.ts";
import { CLI } from "../paths.ts";
import type { Row } from "../row.ts";
import { type Scope, inScope } from "../scope.ts";
import { type StartedServer, startBareServer, startKitUi } from "../server.ts";
import { alternate, time } from "../statistics.ts";

const RUNS = { full: 21, quick: 9, tiny: 1 };
const LIMIT_MS = 30_000;

export const help: Row = {
  number: 1,
  work: "`kit --help`, whole process",
  baseline: "`node -e 0`",
  async measure({ pick }) {
    const values = await alternate(
      { ours: () => timeNode(CLI, "--help"), baseline: () => timeNode("-e", "0") },
      pick(RUNS),
    );
    return [{ ...values, unit: "ms", goal: ratioAtMost(1.5) }];
  },
};

export const launch: Row = {
  number: 2,
  work: "`kit ui`, launch to the first 200 on `/`",
  baseline: "a bare `node:http` server's",
  async measure({ size, pick, folder }) {
    const project = folder();
    const firstAnswer = (start: (scope: Scope) => Promise<StartedServer>) =>
      inScope(size, LIMIT_MS, (scope) =>
        time(async () => {
          const response = await fetch((await start(scope)).url);
          await response.arrayBuffer();
          if (response.status !== 200) throw new Error(`The answer was ${response.status}.`);
        }),
      );
    const values = await alternate(
      {
        ours: () => firstAnswer((scope) => startKitUi(scope, project)),
        baseline: () => firstAnswer((scope) => startBareServer(scope)),
      },
      pick(RUNS),
    );
    return [{ ...values, unit: "ms", goal: ratioAtMost(1.8) }];
  },
};

export const firstLoss: Row = {
  number: 21,
  work: "`kit start` of the built quickstart, launch to the first step's loss",
  baseline: "`node -e 0`",
  async measure({ pick, folder, start }) {
    const project = join(folder(), "quickstart");
    spawnSync(process.execPath, [CLI, "init", project], { stdio: "ignore" });
    spawnSync(process.execPath, [CLI, "build", "--project", project], { stdio: "ignore" });
    const values = await alternate(
      {
        ours: () =>
          time(async () => {
            const child = start(process.execPath, [CLI, "start", "--project", project]);
            await printed(child, /\bloss\b/);
            child.kill("SIGKILL");
            await once(child, "exit");
            // Remove the killed jobs: a new quickstart has none.
            rmSync(join(project, ".kit", "jobs"), { recursive: true });
          }),
        baseline: () => timeNode("-e", "0"),
      },
      pick(RUNS),
    );
    return [{ ...values, unit: "ms", goal: ratioAtMost(6) }];
  },
};

/** @throws if the process ends before it has printed a match */
function printed({ stdout }: ChildProcess, what: RegExp): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = "";
    stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (what.test(text)) resolve();
    });
    stdout?.on("close", () => reject(new Error(`${text} has no ${what.source}.`)));
  });
}

function timeNode(...args: string[]): Promise<number> {
  return time(() => {
    const { status } = spawnSync(process.execPath, args, { stdio: "ignore" });
    if (status !== 0) throw new Error(`node ${args.join(" ")} exited with ${status}.`);
  });
}
