import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readLog } from "../../../jobs/log/read.ts";
import { createJobStore } from "../../../jobs/store.ts";
import { CLI, ENDLESS, createTinyProject, pacedSource, tinySource } from "../../kit.ts";
import { processesIn, signalAll } from "../../process.ts";
import { openTerminal } from "../../pseudoTerminal.ts";

const KIT = `${process.execPath} ${CLI}`;
/** As npm does it: a Node that starts a shell that starts the command. */
const THROUGH_NODE = `${process.execPath} -e 'require("child_process").spawn("sh", ["-c", process.argv[1]], { stdio: "inherit" })' '${KIT} start'`;

/** More than a run that has been asked to end goes on with: it says so every 50. */
const MORE_STEPS = 100;

function createEndlessProject(source: string): string {
  const project = createTinyProject(source);
  onTestFinished(() => {
    signalAll(project, "SIGKILL");
  });
  return project;
}

function jobIn(project: string) {
  const store = createJobStore(project);
  const [job] = store.list();
  const records = job ? [...readLog(dirname(store.logPath(job.id)))] : [];
  const steps = records.map(({ data }) => (data as { step?: number }).step ?? 0);
  return { status: job?.status, step: Math.max(0, ...steps) };
}

function untilStep(project: string, step: number): Promise<void> {
  return expect.poll(() => jobIn(project).step).toBeGreaterThan(step);
}

/** Runs in a terminal, takes the terminal away, and waits for what comes of it. */
async function runAndHangUp(line: string, source = pacedSource()): Promise<string> {
  const project = createEndlessProject(source);
  const terminal = await openTerminal(project);
  terminal.type(line);
  await untilStep(project, 0);
  await terminal.hangUp();
  return project;
}

test.each([`${KIT} start`, `${KIT} start > out.txt 2>&1 &`])(
  "a run ends with its terminal: %s",
  async (line) => {
    const project = await runAndHangUp(line, tinySource({ options: ENDLESS }));
    await expect.poll(() => jobIn(project).status).toBe("cancelled");
  },
);

test.each([
  ["nohup", `nohup ${KIT} start &`],
  ["nohup, its output in a file", `nohup ${KIT} start > out.txt 2>&1 &`],
  ["nohup, where the shell leaves no trace", `env -u _ nohup ${KIT} start > out.txt 2>&1 &`],
  ["nohup and a script", `nohup sh -c "unset _; ${KIT} start < /dev/null; true" > out.txt 2>&1 &`],
  ["nohup in a script of sh", `env -u _ sh -c '(nohup ${KIT} start > out.txt 2>&1 &)'`],
  ["an ignored signal and exec", `(trap "" HUP; exec ${KIT} start > out.txt 2>&1 < /dev/null) &`],
  ["nohup and npm", `nohup ${THROUGH_NODE} > out.txt 2>&1 &`],
  ["setsid", `setsid ${KIT} start &`],
])("a run outlives its terminal with %s, and ends when it is asked", async (_, line) => {
  const project = await runAndHangUp(line);
  await untilStep(project, jobIn(project).step + MORE_STEPS);
  signalAll(project, "SIGTERM");
  await expect.poll(() => jobIn(project).status).toBe("cancelled");
});

test("kit ui outlives its terminal with nohup, and so does the run that it launched", async () => {
  const project = createEndlessProject(pacedSource());
  const terminal = await openTerminal(project);
  terminal.type(`nohup ${KIT} ui --no-open --port 0 > out.txt 2>&1 &`);
  const printed = () => {
    const path = join(project, "out.txt");
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  };
  await expect.poll(printed).toMatch(/http:\S+\/ /);
  const url = /http:\S+/.exec(printed())?.[0] ?? "";
  const answer = await fetch(`${url}api/train`, { method: "POST" });
  await untilStep(project, 0);
  await terminal.hangUp();
  expect(processesIn(project)).toHaveLength(2);
  signalAll(project, "SIGHUP");
  await untilStep(project, jobIn(project).step + MORE_STEPS);
  expect((await fetch(url)).status).toBe(200);
  await answer.body?.cancel();
  signalAll(project, "SIGTERM");
  await expect.poll(() => processesIn(project)).toEqual([]);
  expect(jobIn(project).status).toBe("cancelled");
});
