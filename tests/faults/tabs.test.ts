import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { startKitUi } from "../e2e/kitUi.ts";
import { COMPLETED, CONFIG, STARTED } from "../jobs.ts";
import { createTinyProject, pacedSource } from "../kit.ts";
import { processesIn, spawnModule } from "../process.ts";
import { createProject } from "../project.ts";
import { show, textIn, useTabBrowser } from "./tabBrowser.ts";
import { LONGER, reportFault } from "./table.ts";

const openTab = useTabBrowser();

const CONNECTION = ".event-log .aside";
const OUTPUT = ".run-training pre";
const BUTTON = ".run-training button";

/** A process that runs this many jobs at once and logs a step of each now and then. */
async function startJobs(project: string, count: number) {
  const owner = spawnModule(
    `const { createOwnedJob } = await dist("jobs/ownedJob.js");
     const { setTimeout: delay } = await import("node:timers/promises");
     const [project, config, count] = process.argv.slice(1);
     const jobs = [];
     for (let n = 0; n < Number(count); n++) {
       jobs.push(createOwnedJob(project, "job " + n, JSON.parse(config)));
       // Ids of the same millisecond are in no order.
       await delay(2);
     }
     const all = (event) => jobs.forEach((job) => job.append(event));
     all(${JSON.stringify(STARTED)});
     console.log(jobs.map(({ job }) => job.id).join(" "));
     let step = 0;
     setInterval(() => all({ event: "training.log", data: { step: ++step, loss: 1 / step } }), 300);
     process.stdin.once("data", () => {
       all(${JSON.stringify(COMPLETED)});
       process.exit();
     });`,
    [project, JSON.stringify(CONFIG), String(count)],
  );
  const ids = (await owner.line()).split(" ");
  return { ids, end: () => owner.child.stdin?.write("\n") };
}

async function stepsShown(tab: Page): Promise<number[]> {
  const lines = await textIn(tab, ".event-log pre");
  return [...lines.matchAll(/^\[log\] step=(\d+) /gm)].map(([, step]) => Number(step));
}

function countGaps(steps: number[]): { lost: number; doubled: number } {
  const [first = 0, last = -1] = [steps[0], steps.at(-1)];
  const different = new Set(steps).size;
  return { lost: last - first + 1 - different, doubled: steps.length - different };
}

/** Which tabs to show again: each is shown once when it is opened, and once at the end. */
function againOf(tabs: Page[]): Page[] {
  if (LONGER === 1) return tabs.slice(0, 2);
  return Array.from({ length: LONGER }, () => tabs).flat();
}

test("of seven tabs on seven running jobs the one in front is live, and Home loads in an eighth", async () => {
  /** A browser opens six connections to a host. */
  const JOBS = 7;
  const project = createProject();
  const { ids, end } = await startJobs(project, JOBS);
  const { url } = await startKitUi(project);
  const tabs: Page[] = [];
  let shows = 0;
  const visit = async (tab: Page) => {
    shows++;
    await show(tab, tabs);
    await expect.poll(() => textIn(tab, CONNECTION)).toBe("live");
    const before = (await stepsShown(tab)).at(-1) ?? 0;
    await expect.poll(async () => (await stepsShown(tab)).at(-1) ?? 0).toBeGreaterThan(before);
  };

  for (const id of ids) {
    const tab = await openTab(`${url}#/jobs/${id}`);
    tabs.push(tab);
    await visit(tab);
  }
  for (const tab of againOf(tabs)) await visit(tab);
  const inFront = againOf(tabs).at(-1);
  for (const tab of tabs) {
    const wanted = tab === inFront ? "live" : "paused while hidden";
    expect(await textIn(tab, CONNECTION)).toBe(wanted);
  }

  const home = await openTab(url);
  tabs.push(home);
  await show(home, tabs);
  const badges = () => home.locator("tbody td.status").allInnerTexts();
  await expect.poll(badges).toEqual(ids.map(() => "running"));

  end();
  const total = { lost: 0, doubled: 0, wrongStatus: 0 };
  for (const tab of tabs.slice(0, -1)) {
    await show(tab, tabs);
    await expect.poll(() => textIn(tab, CONNECTION)).toBe("");
    const { lost, doubled } = countGaps(await stepsShown(tab));
    total.lost += lost;
    total.doubled += doubled;
    if ((await textIn(tab, ".status-badge")).trim() !== "completed") total.wrongStatus++;
  }
  reportFault({
    fault: "Seven tabs on seven running jobs, brought to the front in turn",
    times: shows,
    ...total,
  });
  expect(total).toEqual({ lost: 0, doubled: 0, wrongStatus: 0 });
});

test("Home tabs that are hidden hold no connection, and show the whole output when they are shown", async () => {
  const TABS = 7;
  const project = createTinyProject(pacedSource());
  const { url } = await startKitUi(project);
  const printed = () =>
    stripVTControlCharacters(readFileSync(join(project, ".kit", "run", "output.log"), "utf8"));
  const tabs = [await openTab(url)];
  const isDisabled = (tab: Page) => tab.locator(BUTTON).isDisabled();
  await expect.poll(() => isDisabled(tabs[0]!)).toBe(false);
  await tabs[0]!.locator(BUTTON).click();
  const visit = async (tab: Page) => {
    await show(tab, tabs);
    const before = printed();
    await expect.poll(async () => (await textIn(tab, OUTPUT)).startsWith(before)).toBe(true);
    await expect
      .poll(async () => (await textIn(tab, OUTPUT)).length)
      .toBeGreaterThan(before.length);
    await expect.poll(() => textIn(tab, BUTTON)).toContain("Run training: tiny");
    expect(await isDisabled(tab)).toBe(true);
  };
  await expect.poll(() => textIn(tabs[0]!, OUTPUT)).toContain("step ");
  while (tabs.length < TABS) {
    const tab = await openTab(url);
    tabs.push(tab);
    await visit(tab);
  }
  for (const tab of againOf(tabs)) await visit(tab);

  // The run ends while all but the last are hidden.
  const run = processesIn(project).find((pid) =>
    readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("\0start"),
  );
  process.kill(Number(run), "SIGTERM");
  let wrong = 0;
  for (const tab of [...tabs].reverse()) {
    await show(tab, tabs);
    await expect.poll(() => isDisabled(tab)).toBe(false);
    if ((await textIn(tab, OUTPUT)) !== printed()) wrong++;
  }
  expect(printed()).toMatch(/\ncancelled [^\n]*\n$/);
  reportFault({
    fault: "Seven Home tabs during a run, brought to the front in turn",
    times: 2 * TABS - 1 + againOf(tabs).length,
    lost: wrong,
    doubled: 0,
    wrongStatus: 0,
  });
  expect(wrong).toBe(0);
});

/** Keeps in the page's `most` how many requests to one address it had in flight at once. */
const COUNT_REQUESTS = `
  var most = 0;
  {
    const inFlight = {};
    const send = fetch;
    window.fetch = async (address, ...rest) => {
      most = Math.max(most, (inFlight[address] = (inFlight[address] ?? 0) + 1));
      try {
        return await send(address, ...rest);
      } finally {
        inFlight[address]--;
      }
    };
  }`;

test("the jobs list keeps its rows while kit ui is gone, says so, and recovers by itself", async () => {
  const project = createProject();
  await startJobs(project, 3);
  let ui = await startKitUi(project);
  const tab = await openTab(ui.url);
  await tab.evaluate(COUNT_REQUESTS);
  const rows = () => tab.locator("tbody tr").count();
  const notice = () => textIn(tab, ".jobs .notice");
  await expect.poll(rows).toBe(3);
  for (let kill = 0; kill < LONGER; kill++) {
    ui.process.kill("SIGKILL");
    await once(ui.process, "exit");
    await expect
      .poll(notice)
      .toMatch(
        /^\s*Couldn't read the jobs: Kit isn't responding\..*Showing the last list received/s,
      );
    expect(await rows()).toBe(3);
    ui = await startKitUi(project, ui.port);
    await expect.poll(notice).toBe("");
    expect(await rows()).toBe(3);
  }
  const most = await tab.evaluate<number>("most");
  reportFault({
    fault: "`kit ui` killed and restarted while the jobs list is open",
    times: LONGER,
    lost: 0,
    doubled: most - 1,
    wrongStatus: 0,
  });
  expect(most).toBe(1);
});
