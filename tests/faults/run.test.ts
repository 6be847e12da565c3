import { once } from "node:events";
import { get } from "node:http";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { createJobStore } from "../../jobs/store.ts";
import { ROUTES, RUN_HEADER } from "../../protocol/http.ts";
import { openPage, runButton, useBrowser } from "../e2e/browser.ts";
import { type KitUi, startKitUi } from "../e2e/kitUi.ts";
import { createTinyProject, tinySource } from "../kit.ts";
import { processesIn } from "../process.ts";
import { parseFrames, readBody } from "../uiServer.ts";
import { LONGER, reportFault } from "./table.ts";

useBrowser();

const LOGGING_STEPS = 10;
const EVENTUALLY = { timeout: 20_000 };

/** Source of a training that goes on until it is ended. */
function endless({ callbacks = "", before = "" } = {}): string {
  const steps = `maxSteps: 1_000_000, saveSteps: 1_000_000, loggingSteps: ${LOGGING_STEPS},`;
  return tinySource({ before, options: `${steps} callbacks: { ${callbacks} },` });
}

/** A project of which nothing goes on running when the test has finished, whatever went wrong. */
function createRunProject(source: string): string {
  const project = createTinyProject(source);
  onTestFinished(() => {
    for (const pid of processesIn(project)) process.kill(Number(pid), "SIGKILL");
  });
  return project;
}

interface Step {
  step: number;
  /** In milliseconds, by the clock of the run itself. */
  time: number;
}

/** The steps in the log of the project's newest job. */
function stepsOf(project: string): Step[] {
  const jobs = createJobStore(project);
  const [job] = jobs.list();
  if (!job) return [];
  const lines = readFileSync(jobs.logPath(job.id), "utf8").split("\n").slice(0, -1);
  return lines
    .map((line) => JSON.parse(line) as { event: string; time: string; data: { step: number } })
    .filter(({ event }) => event === "training.log")
    .map(({ time, data: { step } }) => ({ step, time: Date.parse(time) }));
}

/** Waits until the run has logged this many more times, and returns those. */
async function moreSteps(project: string, count: number): Promise<Step[]> {
  const before = stepsOf(project).length;
  const after = () => stepsOf(project).slice(before);
  await expect.poll(() => after().length, EVENTUALLY).toBeGreaterThanOrEqual(count);
  return after();
}

/** Steps a second. */
function paceOf(steps: Step[]): number {
  const [first, last] = [steps[0], steps.at(-1)];
  if (!first || !last) return 0;
  return (1_000 * (last.step - first.step)) / Math.max(1, last.time - first.time);
}

function printedBy(project: string): string {
  return readFileSync(join(project, ".kit", "run", "output.log"), "utf8");
}

/** How many steps are not there, and how many are there again. */
function compareSteps(steps: number[]): { lost: number; doubled: number } {
  const different = new Set(steps);
  // The first two steps are logged, and then every tenth.
  const wanted = 2 + (steps.at(-1) ?? 0) / LOGGING_STEPS;
  return { lost: wanted - different.size, doubled: steps.length - different.size };
}

/** The steps that `kit start` has printed. */
function stepsIn(output: string): number[] {
  return [...output.matchAll(/^step +(\d+)\//gm)].map(([, step]) => Number(step));
}

function post({ url }: KitUi): Promise<Response> {
  return fetch(`${url}${ROUTES.train}`, { method: "POST" });
}

async function kill(ui: KitUi): Promise<void> {
  ui.process.kill("SIGKILL");
  await once(ui.process, "exit");
}

// Also what is out of sight, which `innerText` leaves out.
const outputOf = async (page: Page) =>
  (await page.getByLabel("Output of kit start").textContent()) ?? "";

test(
  "a run keeps its pace with no reader, with twenty, and with readers that stop reading",
  async () => {
    const READERS = 20;
    const LOGS = 15;
    // So much output that a reader who does not read it would stop who waits for him.
    const callbacks = `onLog: () => void process.stdout.write("x".repeat(100_000) + "\\n")`;
    const project = createRunProject(endless({ callbacks }));
    const ui = await startKitUi(project);
    const first = readBody(await post(ui));
    await first.until((text) => text.includes("step "));
    const [job] = createJobStore(project).list();
    const paths = [ROUTES.train, ROUTES.jobEvents(job?.id ?? "")];

    const stalled = (n: number) => {
      const socket = connect(ui.port, "localhost").pause();
      socket.write(`GET /${paths[n % 2]} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      return () => void socket.destroy();
    };
    const reading = (n: number) => {
      const request = get(`${ui.url}${paths[n % 2]}`, (response) => response.resume());
      request.on("error", () => undefined);
      return () => void request.destroy();
    };

    await first.cancel();
    await moreSteps(project, 5);
    let slowed = 0;
    let times = 0;
    for (let round = 0; round < LONGER; round++) {
      const alone = paceOf(await moreSteps(project, LOGS));
      for (const watch of [stalled, reading]) {
        const leave = Array.from({ length: READERS }, (_, n) => watch(n));
        const watched = paceOf(await moreSteps(project, LOGS));
        leave.forEach((stop) => stop());
        times += READERS;
        // The readers take their part of the same two cores; a run that waits for one stands still.
        if (watched < alone / 8) slowed++;
      }
    }
    const { lost, doubled } = compareSteps(stepsOf(project).map(({ step }) => step));
    reportFault({
      fault: "Readers of a run that read, stop reading or go away",
      times,
      lost,
      doubled,
      wrongStatus: slowed,
    });
    expect({ slowed, lost, doubled }).toEqual({ slowed: 0, lost: 0, doubled: 0 });
  },
  60_000 * LONGER,
);

test(
  "a tab that is closed, reloaded, left or opened beside changes nothing for the run",
  async () => {
    const project = createRunProject(endless());
    const ui = await startKitUi(project);
    const page = await openPage(ui.url);
    let wrong = 0;
    let times = 0;
    const check = async (tab: Page) => {
      times++;
      await expect
        .poll(() => outputOf(tab), EVENTUALLY)
        .toMatch(/^job \S+ tiny\ntraining [^]*\nstep /);
      expect(await runButton(tab).isDisabled()).toBe(true);
      const answer = await post(ui);
      await answer.body?.cancel();
      if (answer.status !== 409) wrong++;
      await moreSteps(project, 2);
    };

    await expect.poll(() => runButton(page).isEnabled(), EVENTUALLY).toBe(true);
    await runButton(page).click();
    await check(page);
    for (let round = 0; round < LONGER; round++) {
      await page.locator("tbody tr").click();
      await page.getByText("live").waitFor();
      await page.getByRole("link", { name: "Kit" }).click();
      await check(page);
      await page.reload();
      await check(page);
      const other = await page.context().newPage();
      await other.goto(ui.url);
      await check(other);
      await other.close();
      await check(page);
    }
    const starts = processesIn(project).filter((pid) =>
      readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("\0start"),
    );
    expect(starts).toHaveLength(1);
    expect(createJobStore(project).list()).toHaveLength(1);
    const { lost, doubled } = compareSteps(stepsIn(await outputOf(page)));
    reportFault({
      fault: "Tab closed, reloaded, left, opened beside; a second click",
      times,
      lost,
      doubled,
      wrongStatus: wrong,
    });
    expect({ wrong, lost, doubled }).toEqual({ wrong: 0, lost: 0, doubled: 0 });
  },
  60_000 * LONGER,
);

test(
  "killing kit ui loses no byte of a run's output, and the page goes on with the next",
  async () => {
    const KILLS = 2 * LONGER;
    const project = createRunProject(endless());
    let ui = await startKitUi(project);
    const page = await openPage(ui.url);
    await expect.poll(() => runButton(page).isEnabled(), EVENTUALLY).toBe(true);
    await runButton(page).click();
    await expect.poll(() => outputOf(page), EVENTUALLY).toContain("step ");
    const attached = await fetch(`${ui.url}${ROUTES.train}`);
    const run = attached.headers.get(RUN_HEADER) ?? "";
    const body = readBody(attached);
    let seen = await body.until((text) => text.includes("step "));
    await body.cancel();

    for (let n = 0; n < KILLS; n++) {
      await kill(ui);
      await moreSteps(project, 5);
      await page.getByText("The connection was lost. The run goes on").waitFor();
      ui = await startKitUi(project, ui.port);
      // Who knows what it has seen gets the rest; who knows nothing gets all of it.
      const from = Buffer.byteLength(seen);
      const rest = readBody(await fetch(`${ui.url}${ROUTES.restOfTrain(run, from)}`));
      seen += await rest.until((text) => text.endsWith("\n"));
      await rest.cancel();
      const all = readBody(await fetch(`${ui.url}${ROUTES.train}`));
      expect(await all.until((text) => text.length >= seen.length)).toContain(seen);
      await all.cancel();
      const stepsSeen = stepsIn(await outputOf(page)).length;
      await expect
        .poll(async () => stepsIn(await outputOf(page)).length, EVENTUALLY)
        .toBeGreaterThan(stepsSeen);
      expect(await runButton(page).isDisabled()).toBe(true);
    }
    const [job] = createJobStore(project).list();
    expect(job?.status).toBe("running");

    // The last of them ends what the first has started, and the page has its last word.
    ui.process.kill("SIGINT");
    await expect.poll(() => outputOf(page), EVENTUALLY).toMatch(/\ncancelled [^\n]*\n*$/);
    const printed = printedBy(project);
    expect(printed).not.toContain("EPIPE");
    expect(printed.startsWith(seen)).toBe(true);
    const { lost, doubled } = compareSteps(stepsIn(printed));
    const shown = compareSteps(stepsIn(await outputOf(page)));
    reportFault({
      fault: "`kit ui` killed with -9 under a run, its output read on",
      times: KILLS,
      lost: lost + shown.lost,
      doubled: doubled + shown.doubled,
      wrongStatus: 0,
    });
    expect({ lost, doubled, shown }).toEqual({
      lost: 0,
      doubled: 0,
      shown: { lost: 0, doubled: 0 },
    });
    expect(createJobStore(project).list()).toMatchObject([{ status: "cancelled" }]);
  },
  60_000 * LONGER,
);

/** A trainer that hears no signal, and a process of it that ignores them. */
const DEAF = endless({
  before: `import { spawn } from "node:child_process";`,
  callbacks: `onLog: () => {
    const child = spawn("sh", ["-c", "trap '' TERM INT; echo; sleep 600"], { stdio: ["ignore", "pipe", "ignore"] });
    child.stdout.once("data", () => { console.log("deaf"); for (;;); });
    return new Promise(() => {});
  }`,
});

interface Ending {
  signal: NodeJS.Signals;
  source: string;
  ready: RegExp;
  /** The `kit ui` that started the run is killed, and another one gets the signal. */
  isInherited?: boolean;
}

const ENDINGS: Ending[] = [
  { signal: "SIGINT", source: endless(), ready: /step / },
  { signal: "SIGTERM", source: DEAF, ready: /deaf/ },
  { signal: "SIGINT", source: DEAF, ready: /deaf/, isInherited: true },
];

/** Returns what was wrong. */
async function endRun({ signal, source, ready, isInherited }: Ending): Promise<string[]> {
  const LIMIT_MS = 10_000;
  const project = createRunProject(source);
  let ui = await startKitUi(project);
  const body = readBody(await post(ui));
  await body.until((text) => ready.test(text));
  if (isInherited) {
    await kill(ui);
    ui = await startKitUi(project);
  }
  const [job] = createJobStore(project).list();
  const stream = readBody(await fetch(`${ui.url}${ROUTES.jobEvents(job?.id ?? "")}`));
  const before = performance.now();
  ui.process.kill(signal);
  const frames = stream.all().then((bytes) => parseFrames(String(bytes)));
  await once(ui.process, "exit");
  const elapsed = performance.now() - before;
  const wrong: string[] = [];
  if (elapsed > LIMIT_MS) wrong.push(`took ${elapsed} ms`);
  const left = processesIn(project);
  if (left.length > 0) wrong.push(`left ${left.join(", ")}`);
  const told = (await frames).map(({ event }) => event);
  if (told.at(-1) !== "end" || told.includes("training.failed")) wrong.push(told.join(" "));
  const jobs = createJobStore(project).list();
  if (jobs.length !== 1 || jobs[0]?.status !== "cancelled") wrong.push(JSON.stringify(jobs));
  return wrong;
}

test(
  "Ctrl-C and SIGTERM cancel the run and leave no process, deaf as it may be",
  async () => {
    const wrong: string[] = [];
    for (let round = 0; round < LONGER; round++) {
      wrong.push(...(await Promise.all(ENDINGS.map(endRun))).flat());
    }
    reportFault({
      fault: "Ctrl-C or SIGTERM to `kit ui` with a run, one that hears it or not",
      times: ENDINGS.length * LONGER,
      lost: 0,
      doubled: 0,
      wrongStatus: wrong.length,
    });
    expect(wrong).toEqual([]);
  },
  60_000 * LONGER,
);
