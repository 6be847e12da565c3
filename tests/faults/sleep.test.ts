import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { leaseOwner } from "../../disk/lease.ts";
import { leasePath } from "../../jobs/paths.ts";
import { createJobStore } from "../../jobs/store.ts";
import type { JobEvent } from "../../protocol/event.ts";
import {
  type Progress,
  NO_PROGRESS,
  reduceProgress,
  secondsLeft,
} from "../../protocol/progress.ts";
import { startKitUi } from "../e2e/kitUi.ts";
import { GATED, openGate, runKit, tinySource } from "../kit.ts";
import { processesIn, signalAll } from "../process.ts";
import { sayTo, startServe, streamFrom } from "../serveCommand.ts";
import { saveToolModel } from "../toolModel.ts";
import { parseFrames, readBody } from "../uiServer.ts";
import { listJobs } from "./answers.ts";
import { createRunProject, startRun, stepsIn } from "./endlessRun.ts";
import { createHarm } from "./harm.ts";

const LIBRARY = process.env.FAKETIME_PATH ?? "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
const HOUR_MS = 3_600_000;

/** Its first callback, and the page's request for the project, wait at the gate. */
const SOURCE = tinySource({
  before: `import { writeFileSync } from "node:fs";
    ${GATED}
    if (process.argv.includes("manifest")) {
      writeFileSync("loading", "");
      await gate();
    }`,
  options: `maxSteps: 1500, saveSteps: 1500, loggingSteps: 20, evalSteps: 20,
    evalDataset: { type: "jsonl", path: "data.jsonl" }, callbacks: { onLog: () => gate() },`,
});

/** A machine that runs the processes in a folder, and sleeps for an hour. */
function createLaptop(folder: string, clocks: NodeJS.ProcessEnv) {
  const path = join(folder, "clock");
  const isStopped = (pid: string) => /\) T [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  writeFileSync(path, "+0\n");
  return {
    env: { LD_PRELOAD: LIBRARY, FAKETIME_TIMESTAMP_FILE: path, FAKETIME_NO_CACHE: "1", ...clocks },
    async sleep() {
      // Again, since one may just have started another.
      const stop = () => (signalAll(folder, "SIGSTOP"), processesIn(folder).every(isStopped));
      await expect.poll(stop).toBe(true);
      writeFileSync(path, "+1h\n");
      signalAll(folder, "SIGCONT");
    },
  };
}

function readLog(project: string, id: string): (JobEvent & { at: number })[] {
  const lines = readFileSync(createJobStore(project).logPath(id), "utf8").split("\n").slice(0, -1);
  return lines.map((line) => {
    const { event, data, time } = JSON.parse(line) as JobEvent & { time: string };
    return { event, data, at: Date.parse(time) } as JobEvent & { at: number };
  });
}

test.each([
  ["all clocks go on, as on macOS and Windows", {}],
  ["only the wall clock goes on, as on Linux", { FAKETIME_DONT_FAKE_MONOTONIC: "1" }],
])("training, kit ui and kit serve survive an hour of sleep: %s", async (name, clocks) => {
  const harm = createHarm(`The machine sleeps for an hour: ${name}`);
  const project = createRunProject(SOURCE);
  const laptop = createLaptop(project, clocks);
  saveToolModel(join(project, "talker"), { context: 8192 });
  const talk = { model: "talker", messages: [{ role: "user", content: "1" }] };
  await runKit(project, ["build"]);
  const serve = await startServe(project, ["talker"], laptop.env);
  const ui = await startKitUi(project, 0, { env: laptop.env });
  const run = readBody(await startRun(ui.url));
  // After two evaluations, a longer one is known as sleep.
  await run.until((text) => stepsIn(text).length > 3);
  const [{ id = "" } = {}] = createJobStore(project).list();
  // It may not end before the machine sleeps.
  process.kill(leaseOwner(leasePath(join(project, ".kit", "jobs", id)))!.pid, "SIGSTOP");
  const stream = readBody(await fetch(`${ui.url}api/jobs/${id}/events`));
  await stream.until((text) => text.includes("training.log"));
  const manifest = fetch(`${ui.url}api/manifest`);
  await expect.poll(() => existsSync(join(project, "loading"))).toBe(true);
  const answer = streamFrom(serve.port, talk, /"content":"./);
  await answer.began;

  await laptop.sleep();
  const logged = readLog(project, id).length;
  const wokeAt = performance.now();
  await stream.until((text) => parseFrames(text).length > logged);
  console.log(
    `the page's stream went on ${Math.round(performance.now() - wokeAt)} ms after waking`,
  );
  harm.status((await listJobs(ui.url))[id], "running");
  openGate(project);
  harm.also((await manifest).status, 200);
  harm.also((await answer.ended).isWhole, true);
  harm.also((await sayTo(serve, { ...talk, max_tokens: 1 })).status, 200);

  const frames = parseFrames(String(await stream.all()));
  const output = String(await run.all());
  harm.also(output.split("\n").at(-2), expect.stringContaining("completed in"));
  harm.also(createJobStore(project).list(), [expect.objectContaining({ id, status: "completed" })]);
  const log = readLog(project, id);
  expect(log.at(-1)!.at - log[0]!.at).toBeGreaterThan(HOUR_MS);
  harm.events(
    frames.map(({ event, data }) => `${event} ${data}`),
    log.map(({ event, data }) => `${event} ${JSON.stringify(data)}`),
  );
  // No time left counts the hour, neither in the terminal nor on the page.
  const seconds = (progress: Progress) =>
    secondsLeft(progress.first, progress.last, progress.steps) ?? 0;
  let progress = NO_PROGRESS;
  const left = log.map((event) => seconds((progress = reduceProgress(progress, event))));
  harm.also([output.match(/\d+h.* left/), Math.max(...left) < HOUR_MS / 1000], [null, true]);
  harm.expectNone();
});
