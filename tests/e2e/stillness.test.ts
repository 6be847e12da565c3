import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { COMPLETED, STARTED, createJob, logged } from "../jobs.ts";
import { createTinyProject, pacedSource } from "../kit.ts";
import { openPage, runButton, useBrowser } from "./browser.ts";
import { startKitUi } from "./kitUi.ts";
import { LONG_ERROR } from "./statuses.ts";

useBrowser();

const WIDTHS = [1280, 360];
/** Steps and losses that grow by a digit and more. */
const LOGS = [
  [9, 8],
  [10, 0.00123456],
  [999, 12_345_678],
  [1_000, 4],
] as const;

test.each(WIDTHS)("nothing moves at home while a run streams, at %i px", async (width) => {
  const project = createTinyProject(pacedSource({ options: "loggingSteps: 1_000," }));
  const { url } = await startKitUi(project);
  const page = await openPage(url);
  await page.setViewportSize({ width, height: 800 });
  await expect.poll(() => runButton(page).isEnabled()).toBe(true);
  await page.getByText("No jobs yet.").waitFor();
  const shifts = await recordShifts(page);
  await runButton(page).click();
  await page.getByText(/step +3000\//).waitFor();
  await page.locator("tbody tr").waitFor();
  expect(await shifts()).toEqual([]);
});

test.each(WIDTHS)("nothing moves on a job's page while the job runs, at %i px", async (width) => {
  const project = createTinyProject();
  const { job, append } = createJob(project, "waits");
  const { url } = await startKitUi(project);
  const page = await openPage(`${url}#/jobs/${job.id}`);
  await page.setViewportSize({ width, height: 800 });
  await page.getByText("queued").waitFor();
  await page.getByText("live", { exact: true }).waitFor();
  const shifts = await recordShifts(page);
  append(STARTED);
  await page.getByText("running").waitFor();
  for (const [step, loss] of LOGS) {
    append(logged(step, loss));
    await page.getByText(`[log] step=${step} `).waitFor();
  }
  append(COMPLETED);
  await page.getByText("artifacts: ").waitFor();
  expect(await shifts()).toEqual([]);
});

test.each([
  [1280, "short", "Out of memory."],
  [1280, "long", LONG_ERROR],
  [360, "short", "Out of memory."],
  [360, "long", LONG_ERROR],
])(
  "a failure is shown whole, and a short one moves nothing, at %i px with a %s error",
  async (width, _, error) => {
    const project = createTinyProject();
    const { job, append } = createJob(project, "fails", [STARTED, logged(1)]);
    const { url } = await startKitUi(project);
    const page = await openPage(`${url}#/jobs/${job.id}`);
    await page.setViewportSize({ width, height: 800 });
    await page.getByText("[log] step=1 ").waitFor();
    await page.getByText("live", { exact: true }).waitFor();
    const shifts = await recordShifts(page);
    append({ event: "training.failed", data: { error } });
    const failure = page.locator(".failure");
    await failure.waitFor();
    if (error !== LONG_ERROR) expect(await shifts()).toEqual([]);
    // All of it can be read.
    await failure.focus();
    await page.keyboard.press("End");
    await expect.poll(() => failure.evaluate(UNSEEN)).toBeLessThan(2);
  },
);

test("animations stop for readers who prefer reduced motion", async () => {
  const { url } = await startKitUi(createTinyProject(pacedSource()));
  const page = await openPage(url);
  await expect.poll(() => runButton(page).isEnabled()).toBe(true);
  await runButton(page).click();
  const animations = () => page.evaluate("document.getAnimations().length");
  await expect.poll(animations).toBe(1);
  await page.emulateMedia({ reducedMotion: "reduce" });
  await expect.poll(animations).toBe(0);
});

test("a log that is followed stays at its end when the window narrows", async () => {
  const project = createTinyProject();
  const losses = Array.from({ length: 50 }, (_, step) => logged(step));
  const { job } = createJob(project, "done", [STARTED, ...losses, COMPLETED]);
  const { url } = await startKitUi(project);
  const page = await openPage(`${url}#/jobs/${job.id}`);
  await page.getByText("[log] step=49 ").waitFor();
  const left = () => page.locator("pre").evaluate(UNSEEN);
  await page.setViewportSize({ width: 1280, height: 500 });
  await expect.poll(left).toBeLessThan(2);
  await page.setViewportSize({ width: 200, height: 500 });
  await expect.poll(left).toBeLessThan(2);
});

/** The distance of a box from its end, in CSS pixels. */
const UNSEEN = (box: { scrollHeight: number; scrollTop: number; clientHeight: number }) =>
  box.scrollHeight - box.scrollTop - box.clientHeight;

/** Two repaints: by the second, all shifts before the first have been reported. */
const FRAMES = "new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))";

/** Records layout shifts that the user has not caused, as Chromium reports them. */
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
