import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createJobStore } from "../../jobs/store.ts";
import { ROUTES, RUN_HEADER } from "../../protocol/http.ts";
import { openPage, runButton, useBrowser } from "../e2e/browser.ts";
import { type KitUi, startKitUi } from "../e2e/kitUi.ts";
import { processesIn } from "../process.ts";
import { parseFrames, readBody } from "../uiServer.ts";
import {
  compareSteps,
  createRunProject,
  endless,
  moreSteps,
  outputOf,
  startRun,
  stepsIn,
} from "./endlessRun.ts";
import { LONGER, reportFault } from "./table.ts";

useBrowser();

function printedBy(project: string): string {
  return readFileSync(join(project, ".kit", "run", "output.log"), "utf8");
}

async function kill(ui: KitUi): Promise<void> {
  ui.process.kill("SIGKILL");
  await once(ui.process, "exit");
}

test("killing kit ui loses no byte of a run's output, and the page goes on with the next", async () => {
  const KILLS = 2 * LONGER;
  const project = createRunProject(endless());
  let ui = await startKitUi(project);
  const page = await openPage(ui.url);
  await expect.poll(() => runButton(page).isEnabled()).toBe(true);
  await runButton(page).click();
  await expect.poll(() => outputOf(page)).toContain("step ");
  const attached = await fetch(`${ui.url}${ROUTES.train}`);
  const run = attached.headers.get(RUN_HEADER) ?? "";
  const body = readBody(attached);
  let seen = await body.until((text) => text.includes("step "));
  await body.cancel();

  for (let n = 0; n < KILLS; n++) {
    await kill(ui);
    await moreSteps(project, 5);
    await page.getByText("Connection lost. The run continues").waitFor();
    ui = await startKitUi(project, ui.port);
    // A client that sends its position gets the rest, any other the whole.
    const from = Buffer.byteLength(seen);
    const rest = readBody(await fetch(`${ui.url}${ROUTES.restOfTrain(run, from)}`));
    seen += await rest.until((text) => text.endsWith("\n"));
    await rest.cancel();
    const all = readBody(await fetch(`${ui.url}${ROUTES.train}`));
    expect(await all.until((text) => text.length >= seen.length)).toContain(seen);
    await all.cancel();
    const stepsSeen = stepsIn(await outputOf(page)).length;
    await expect.poll(async () => stepsIn(await outputOf(page)).length).toBeGreaterThan(stepsSeen);
    expect(await runButton(page).isDisabled()).toBe(true);
  }
  const [job] = createJobStore(project).list();
  expect(job?.status).toBe("running");

  // The last of them ends what the first has started, and the page has its last word.
  ui.process.kill("SIGINT");
  await expect.poll(() => outputOf(page)).toMatch(/\ncancelled [^\n]*\n*$/);
  const printed = printedBy(project);
  expect(printed).not.toContain("EPIPE");
  expect(printed.startsWith(seen)).toBe(true);
  const { lost, doubled } = compareSteps(stepsIn(printed));
  const shown = compareSteps(stepsIn(await outputOf(page)));
  reportFault({
    fault: "`kit ui` killed (SIGKILL) during a run, output resumed",
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
});

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

/** Returns the faults. */
async function endRun({ signal, source, ready, isInherited }: Ending): Promise<string[]> {
  const LIMIT_MS = 10_000;
  const project = createRunProject(source);
  let ui = await startKitUi(project);
  const body = readBody(await startRun(ui.url));
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

test("Ctrl-C and SIGTERM cancel the run and leave no process, deaf as it may be", async () => {
  const wrong: string[] = [];
  for (let round = 0; round < LONGER; round++) {
    wrong.push(...(await Promise.all(ENDINGS.map(endRun))).flat());
  }
  reportFault({
    fault: "Ctrl-C or SIGTERM to `kit ui` during a run, responsive or not",
    times: ENDINGS.length * LONGER,
    lost: 0,
    doubled: 0,
    wrongStatus: wrong.length,
  });
  expect(wrong).toEqual([]);
});
