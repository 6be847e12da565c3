import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { fillWithJobs } from "../jobs.ts";
import { createTinyProject, pacedSource } from "../kit.ts";
import { openPage, reloadWithoutAnswers, runButton, useBrowser } from "./browser.ts";
import { leaveRun } from "./endedRun.ts";
import { startKitUi } from "./kitUi.ts";
import { LONG_ERROR, createJobs } from "./statuses.ts";

useBrowser();

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** The folder for screenshots of each state; none are taken without it. */
const { KIT_SCREENSHOTS } = process.env;

/** Prints each colour as text and as ground, plain, bright, bold, faint, italic and reversed. */
const COLOURS = `for (const style of [0, 1, 2, 3, 7]) {
  const text = [30, 31, 32, 33, 34, 35, 36, 37, 90, 91, 94, 97, 41, 42, 44, 47, 103];
  console.log(text.map((code) => "\\x1b[" + style + ";" + code + "m " + code + " \\x1b[0m").join(""));
}`;

/** Checks a state at all widths and in both themes. */
async function inspect(page: Page, state: string): Promise<void> {
  for (const width of [2560, 1280, 360]) {
    await page.setViewportSize({ width, height: 800 });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      const name = `${state}-${width}-${colorScheme}`;
      if (KIT_SCREENSHOTS) await page.screenshot({ path: join(KIT_SCREENSHOTS, `${name}.png`) });
      // A barrier depends on the width or on the theme, not on both.
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

/** How far right of the heading the text about the status starts, in CSS pixels. */
const STATUS_OFFSET = `(() => {
  const text = document.createRange();
  text.selectNodeContents(document.querySelector(".outcome .aside"));
  const heading = document.querySelector("h1").getBoundingClientRect();
  return text.getBoundingClientRect().left - heading.left;
})()`;

async function findBarriers(page: Page): Promise<string[]> {
  // Through the debugger, since the page's policy refuses a test's script.
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(AXE);
  const { violations } = await page.evaluate<Pick<AxeResults, "violations">>(
    // What holds is not sent.
    `axe.run({ resultTypes: ["violations"] }).then(({ violations }) => ({ violations }))`,
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 150)} ${failureSummary}`),
  );
}

/** Expects the status in the tab's title, and its icon, served, in the status's colour. */
async function expectInTab(page: Page, status: string): Promise<void> {
  await page.emulateMedia({ colorScheme: "light" });
  expect(await page.title()).toMatch(new RegExp(`^${status} · `));
  const icon = await page.evaluate<string>("document.querySelector('link[rel=icon]').href");
  expect(icon).toContain(`/favicon/${status}.svg`);
  const answer = await page.request.get(icon);
  expect(answer.headers()["content-type"]).toContain("image/svg+xml");
  const [, ...rgb] = /rect.* fill="#(..)(..)(..)"/.exec(await answer.text()) ?? [];
  const colour = `rgb(${rgb.map((part) => parseInt(part, 16)).join(", ")})`;
  const badge = `getComputedStyle(document.querySelector(".status-badge.status-${status}")).color`;
  expect(await page.evaluate(badge)).toBe(colour);
}

describe("axe-core finds nothing, and nothing reaches beyond the window", () => {
  test("at home before, while and after a run is started", async () => {
    const project = createTinyProject(pacedSource({ before: COLOURS }));
    const { url, process } = await startKitUi(project);
    const page = await openPage(url);
    const answer = await reloadWithoutAnswers(page);
    await page.getByText("Loading jobs…").waitFor();
    await inspect(page, "home-loading");

    await answer();
    await page.getByText("No jobs yet.").waitFor();
    await expect.poll(() => runButton(page).isEnabled()).toBe(true);
    await inspect(page, "home-empty");

    // A file in place of the folder for the output.
    const folder = join(project, ".kit/run");
    rmSync(folder, { recursive: true, force: true });
    writeFileSync(folder, "");
    await runButton(page).click();
    await page.getByRole("alert").waitFor();
    await inspect(page, "home-not-started");
    rmSync(folder);

    // It learns of another tab's run with its next poll; the click is sooner.
    await page.route("**/api/jobs", (route) => route.fulfill({ json: { jobs: [] } }));
    const other = await page.context().newPage();
    await other.goto(url);
    await runButton(other).click();
    await other.getByText(/step +50\//).waitFor();
    await runButton(page).click();
    await page.getByText("A run is in flight.").waitFor();
    await page.unrouteAll({ behavior: "wait" });
    await page.getByText(/step +50\//).waitFor();
    await inspect(page, "home-refused");

    await page.reload();
    await page.getByText(/step +100\//).waitFor();
    await page.locator("tbody tr").waitFor();
    await expectInTab(page, "running");
    await inspect(page, "home-running");

    process.kill("SIGKILL");
    await page.getByText("Couldn't read the jobs:").waitFor();
    await page.getByText("Connection lost.").waitFor();
    await inspect(page, "home-unreachable");
  });

  test("at home with jobs and a run that has ended: no trainer, a broken one, a thousand jobs", async () => {
    const project = createTinyProject("export default 1;");
    createJobs(project);
    leaveRun(project, `failed: ${LONG_ERROR}\n`);
    const { url } = await startKitUi(project);
    const page = await openPage(url);
    await page.getByText("run ended: failed").waitFor();
    await runButton(page).getByText("No trainer in src/kit/index.ts yet.").waitFor();
    await expect.poll(() => page.locator("tbody tr").count()).toBe(5);
    await inspect(page, "home-list");

    const source = `throw new Error(${JSON.stringify(LONG_ERROR)});`;
    writeFileSync(join(project, "src/kit/index.ts"), source);
    await page.reload();
    await runButton(page).getByText("Couldn't read manifest:").waitFor();
    await expect.poll(() => page.locator("tbody tr").count()).toBe(5);
    await inspect(page, "home-failed");

    fillWithJobs(project, 1_000);
    await page.getByText("1005", { exact: true }).waitFor();
    await page.mouse.wheel(0, 20_000);
    await page.getByText("one of many").first().waitFor();
    await inspect(page, "home-many");
  });

  test("of a job: each status, no such job, a lost stream", async () => {
    const project = createTinyProject();
    const jobs = createJobs(project);
    const { url, process } = await startKitUi(project);
    const page = await openPage(`${url}#/jobs/${jobs.running.job.id}`);
    const answer = await reloadWithoutAnswers(page);
    await page.getByText("loading status…").waitFor();
    await inspect(page, "job-loading");
    expect(await page.evaluate(STATUS_OFFSET)).toBe(0);
    await answer();

    for (const [status, { job }] of Object.entries(jobs)) {
      await page.goto(`${url}#/jobs/${job.id}`);
      await page.getByRole("status").getByText(status).waitFor();
      if (status !== "queued") await page.getByText("[started]").waitFor();
      await expectInTab(page, status);
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
  });
});
