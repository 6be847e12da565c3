import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createJobStore } from "../../jobs/store.ts";
import type { JobEvent } from "../../protocol/event.ts";
import { NO_PROGRESS, reduceProgress, secondsLeft } from "../../protocol/progress.ts";
import { startKitUi } from "../e2e/kitUi.ts";
import { GATED, openGate, runKit, tinySource } from "../kit.ts";
import { processesIn, signalAll } from "../process.ts";
import { startServe, streamFrom } from "../serveCommand.ts";
import { saveToolModel } from "../toolModel.ts";
import { parseFrames, readBody } from "../uiServer.ts";
import { listJobs } from "./answers.ts";
import { createRunProject, startRun, stepsIn } from "./endlessRun.ts";
import { createHarm } from "./harm.ts";

const LIBRARY = process.env.FAKETIME_PATH ?? "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

/** Its first callback, and the page's read of the project, wait at the gate. */
const SOURCE = tinySource({
  before: `${GATED} if (process.argv.includes("manifest")) await gate();`,
  options: `maxSteps: 2000, saveSteps: 1000, loggingSteps: 50, callbacks: { onLog: () => gate() },`,
});

/** A machine of a project's processes, which sleeps for an hour: no clock of theirs stops meanwhile. */
function createLaptop(project: string, clocks: NodeJS.ProcessEnv) {
  const path = join(project, "clock");
  const turn = (by: string) => writeFileSync(path, `${by}\n`);
  const areAll = (state: RegExp) => () =>
    processesIn(project).every((pid) =>
      state.test(readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1) ?? ""),
    );
  turn("+0");
  return {
    env: { LD_PRELOAD: LIBRARY, FAKETIME_TIMESTAMP_FILE: path, FAKETIME_NO_CACHE: "1", ...clocks },
    async sleep() {
      signalAll(project, "SIGSTOP");
      await expect.poll(areAll(/^T/)).toBe(true);
      turn("+1h");
      signalAll(project, "SIGCONT");
    },
  };
}

function readLog(project: string, id: string): (JobEvent & { time: string })[] {
  const lines = readFileSync(createJobStore(project).logPath(id), "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as JobEvent & { time: string });
}

test.each([
  ["every clock goes on, as on macOS and Windows", {}],
  ["monotonic clocks stand still, as on Linux", { FAKETIME_DONT_FAKE_MONOTONIC: "1" }],
])("training, kit ui and kit serve go on after an hour of sleep: %s", async (name, clocks) => {
  const harm = createHarm(`The machine sleeps for an hour: ${name}`);
  const project = createRunProject(SOURCE);
  const laptop = createLaptop(project, clocks);
  saveToolModel(join(project, "talker"), { context: 8192 });
  expect(await runKit(project, ["build"])).toMatchObject({ code: 0 });
  const serve = await startServe(project, ["talker"], laptop.env);
  const ui = await startKitUi(project, 0, { env: laptop.env });
  const run = readBody(await startRun(ui.url));
  await run.until((text) => stepsIn(text).length > 2);
  const [id = ""] = Object.keys(await listJobs(ui.url));
  const stream = readBody(await fetch(`${ui.url}api/jobs/${id}/events`));
  await stream.until((text) => text.includes('"step":50'));
  const manifest = fetch(`${ui.url}api/manifest`);
  const answer = streamFrom(
    serve.port,
    { model: "talker", messages: [{ role: "user", content: "1" }] },
    /"content":"./,
  );
  await answer.began;

  await laptop.sleep();
  const wokeAt = performance.now();
  const logged = readLog(project, id).length;
  await stream.until((text) => parseFrames(text).length > logged);
  console.log(`live ${Math.round(performance.now() - wokeAt)} ms after waking`);
  harm.status((await listJobs(ui.url))[id], "running");
  openGate(project);
  harm.also((await manifest).status, 200);
  harm.also((await answer.ended).isWhole, true);
  harm.also(
    (
      await serve.post("chat/completions", {
        model: "talker",
        messages: [{ role: "user", content: "1" }],
        max_tokens: 1,
      })
    ).status,
    200,
  );

  const frames = parseFrames(String(await stream.all()));
  const output = String(await run.all());
  harm.also(output.split("\n").at(-2), expect.stringContaining("completed in"));
  harm.also(createJobStore(project).list(), [expect.objectContaining({ id, status: "completed" })]);
  const log = readLog(project, id);
  harm.events(
    frames.map(({ event, data }) => `${event} ${data}`),
    log.map(({ event, data }) => `${event} ${JSON.stringify(data)}`),
  );
  // What is left never counts the hour, neither in the terminal nor on the page.
  harm.also(output.match(/\d+h.* left/), null);
  let progress = NO_PROGRESS;
  for (const { time, ...event } of log) {
    progress = reduceProgress(progress, { ...event, at: Date.parse(time) });
    const left = secondsLeft(progress.first, progress.last, progress.steps) ?? 0;
    harm.also(left < 3600, true);
  }
  harm.expectNone();
});
