import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { COMPLETED, STARTED, createJob, logged } from "../jobs.ts";
import { createTinyProject, ENDLESS, tinySource } from "../kit.ts";
import { openPage, runButton, useBrowser } from "./browser.ts";
import { startKitUi } from "./kitUi.ts";

useBrowser();

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** A folder to look at the page of each state; none is written without it. */
const { KIT_SCREENSHOTS } = process.env;

const LONG_NAME = `${"a-very-long-name-".repeat(7)}x`;
const LONG_ERROR = `Cannot read the dataset ${"/a/very/long/folder".repeat(20)}.\n${"more ".repeat(200)}`;

/** Prints each colour as text and as ground, plain, bright, bold, faint, italic and reversed. */
const COLOURS = `for (const style of [0, 1, 2, 3, 7]) {
  const text = [30, 31, 32, 33, 34, 35, 36, 37, 90, 91, 94, 97, 41, 42, 44, 47, 103];
  console.log(text.map((code) => "\\x1b[" + style + ";" + code + "m " + code + " \\x1b[0m").join(""));
}`;

/** All five statuses, names long and short, with and without events. */
function createJobs(project: string) {
  const curve = [8, 6, 5, 4.5, 4.2, 4.1].map((loss, n) => logged(n + 1, loss));
  return {
    completed: createJob(project, "date-normalizer", [STARTED, ...curve, COMPLETED]),
    failed: createJob(project, LONG_NAME, [
      STARTED,
      logged(1, 2),
      { event: "training.failed", data: { error: LONG_ERROR } },
    ]),
    cancelled: createJob(project, "stopped", [
      STARTED,
      { event: "training.cancelled", data: { step: 3 } },
    ]),
    running: createJob(project, "at-work", [STARTED, ...curve]),
    queued: createJob(project, "waits"),
  };
}

/** What everyone needs of a state, at both widths and in both themes. */
async function inspect(page: Page, state: string): Promise<void> {
  for (const width of [2560, 1280, 360]) {
    await page.setViewportSize({ width, height: 800 });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      const name = `${state}-${width}-${colorScheme}`;
      if (KIT_SCREENSHOTS) await page.screenshot({ path: join(KIT_SCREENSHOTS, `${name}.png`) });
      // What can be wrong for somebody hangs on the width or on the theme, not on both.
      if (name.endsWith("1280-light") || name.endsWith("360-dark")) {
        expect(await findBarriers(page), name).toEqual([]);
      }
    }
    expect(await page.evaluate(FIND_OVERFLOW), `${state}-${width}`).toEqual([]);
  }
}

/** The elements that reach beyond the window, which would make the page scroll sideways. */
const FIND_OVERFLOW = `
  document.documentElement.scrollWidth <= innerWidth ? [] :
  [...document.querySelectorAll("body *")]
    .filter((element) => element.getBoundingClientRect().right > innerWidth)
    .map((element) => element.outerHTML.slice(0, 100))`;

async function findBarriers(page: Page): Promise<string[]> {
  // By the browser's debugger: the page's policy lets no script of a test in.
  await page.evaluate(`window.axe ?? (() => { ${AXE} })()`);
  const { violations } = await page.evaluate<AxeResults>("axe.run()");
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 150)} ${failureSummary}`),
  );
}

describe("axe-core finds nothing, and nothing reaches beyond the window", () => {
  test("at home: empty, no trainer, failed, running, a full list, a list that cannot be read", async () => {
    const project = createTinyProject(tinySource({ before: COLOURS, options: ENDLESS }));
    const entry = join(project, "src/kit/index.ts");
    const { url, process } = await startKitUi(project);
    const page = await openPage(url);
    await page.getByText("No jobs yet.").waitFor();
    await expect.poll(() => runButton(page).isEnabled()).toBe(true);
    await inspect(page, "home-empty");

    await runButton(page).click();
    await page.getByText(/step +100\//).waitFor();
    await page.locator("tbody tr").waitFor();
    await inspect(page, "home-running");

    createJobs(project);
    writeFileSync(entry, "export default 1;");
    await page.reload();
    await page.getByText("No trainer in src/kit/index.ts yet.").waitFor();
    await expect.poll(() => page.locator("tbody tr").count()).toBe(6);
    await inspect(page, "home-list");

    writeFileSync(entry, `throw new Error(${JSON.stringify(LONG_ERROR)});`);
    await page.reload();
    await page.getByText("Couldn't read manifest:").waitFor();
    await expect.poll(() => page.locator("tbody tr").count()).toBe(6);
    await inspect(page, "home-failed");

    process.kill("SIGKILL");
    await page.getByText("Couldn't read the jobs:").waitFor({ timeout: 15_000 });
    await inspect(page, "home-unreachable");
  }, 120_000);

  test("of a job: each status, no such job, a lost stream", async () => {
    const project = createTinyProject();
    const jobs = createJobs(project);
    const { url, process } = await startKitUi(project);
    const page = await openPage(url);
    for (const [status, { job }] of Object.entries(jobs)) {
      await page.goto(`${url}#/jobs/${job.id}`);
      await page.getByRole("status").getByText(status).waitFor();
      if (status !== "queued") await page.getByText("[started]").waitFor();
      await inspect(page, `job-${status}`);
    }
    await page.goto(`${url}#/jobs/20200101-000000-000-aaaa`);
    await page.getByText("No job 20200101-000000-000-aaaa").waitFor();
    await inspect(page, "job-missing");

    await page.goto(`${url}#/jobs/${jobs.running.job.id}`);
    await page.getByText("live", { exact: true }).waitFor();
    process.kill("SIGKILL");
    await page.getByText("[stream error]").waitFor();
    await inspect(page, "job-reconnecting");
  }, 120_000);
});

test("nothing moves while a run streams, in either view", async () => {
  const project = createTinyProject(tinySource({ options: ENDLESS }));
  const { url } = await startKitUi(project);
  const page = await openPage(url);
  await expect.poll(() => runButton(page).isEnabled()).toBe(true);
  await page.getByText("No jobs yet.").waitFor();
  const home = await recordShifts(page);
  await runButton(page).click();
  await page.getByText(/step +500\//).waitFor();
  await page.locator("tbody tr").waitFor();
  expect(await home()).toEqual([]);
  await page.locator("tbody a").click();
  await page.getByText("live", { exact: true }).waitFor();
  const job = await recordShifts(page);
  const count = await page.locator(".figures dd").first().innerText();
  await expect.poll(() => page.locator(".figures dd").first().innerText()).not.toBe(count);
  await page.getByText("[log]").nth(0).waitFor();
  expect(await job()).toEqual([]);
}, 60_000);

/** Two frames: the second comes after the shifts of what was there before the first were told. */
const FRAMES = "new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))";

/** Layout shifts from now on that the user has not caused, as Chromium reports them. */
async function recordShifts(page: Page): Promise<() => Promise<string[]>> {
  await page.evaluate(`${FRAMES}.then(() => {
    window.shifts = [];
    const describe = ({ node, previousRect: { x, y }, currentRect }) =>
      [node?.outerHTML?.slice(0, 80), x, y, "to", currentRect.x, currentRect.y].join(" ");
    new PerformanceObserver((list) => {
      for (const { sources } of list.getEntries()) shifts.push(sources.map(describe).join());
    }).observe({ type: "layout-shift" });
  })`);
  return () => page.evaluate<string[]>(`${FRAMES}.then(() => shifts)`);
}

test("the keyboard reaches everything, its mark is seen, and a refreshed list keeps it", async () => {
  const project = createTinyProject();
  const jobs = Object.values(createJobs(project));
  const { url } = await startKitUi(project);
  const page = await openPage(url);
  await expect.poll(() => runButton(page).isEnabled()).toBe(true);
  await expect.poll(() => page.locator("tbody tr").count()).toBe(5);
  const reached: string[] = [];
  const focused = () => page.evaluate<{ text: string; outline: string }>(DESCRIBE_FOCUS);
  for (let n = 0; n < 8; n++) {
    await page.keyboard.press("Tab");
    const { text, outline } = await focused();
    expect(outline, text).toMatch(/solid 2px/);
    reached.push(text);
  }
  // Those of one millisecond are in any order.
  const names = await page.locator("tbody a").allInnerTexts();
  expect(reached).toEqual(["Kit", "Run training: tiny", "", ...names]);

  // Newer and older rows come and go around the one that has the focus.
  const last = jobs.find(({ job }) => job.name === names.at(-1))!;
  createJob(project, "newer");
  rmSync(jobs.find((job) => job !== last)!.directory, { recursive: true });
  await page.getByText("newer").waitFor({ timeout: 15_000 });
  expect((await focused()).text).toBe(last.job.name);
  await page.keyboard.press("Enter");
  await page.getByText(last.job.id).waitFor();
  await page.keyboard.press("Tab");
  expect(await page.evaluate("document.activeElement.ariaLabel")).toBe("Event log, last 50 lines");
}, 60_000);

const DESCRIBE_FOCUS = `(({ outlineStyle, outlineWidth }) => ({
  text: document.activeElement.innerText.trim(),
  outline: outlineStyle + " " + outlineWidth,
}))(getComputedStyle(document.activeElement))`;
