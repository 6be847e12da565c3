import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { COMPLETED, STARTED, createJob, logged } from "../jobs.ts";
import { createTinyProject, pacedSource } from "../kit.ts";
import { openPage, runButton, useBrowser } from "./browser.ts";
import { leaveRun } from "./endedRun.ts";
import { startKitUi } from "./kitUi.ts";
import { createJobs } from "./statuses.ts";

useBrowser();

const SIZES = [
  [1280, 640],
  [1280, 800],
  [1366, 768],
  [1440, 900],
] as const;

/** As wide as the widest line of `kit start` but its last, which wraps, and as the widest line of a step. */
const LINE = "x".repeat(68);
const STEP = "step  100/1000 loss 10.235 12.3k tok/s 45m 27s left";

/** How far the page itself would scroll, in CSS pixels. */
const PAGE_SCROLLS = "document.documentElement.scrollHeight - innerHeight";

const PAGE_SCROLLS_SIDEWAYS = "document.documentElement.scrollWidth - innerWidth";

/** Where the visible labels under the plot are, from the left. */
const STEP_LABELS = `[...document.querySelectorAll(".axis, .tick.step > span")]
  .filter((label) => label.checkVisibility())
  .map((label) => label.getBoundingClientRect().toJSON())
  .toSorted((a, b) => a.left - b.left)`;

/** How many lines a text takes in the box. */
const LINES_OF = `(text) => {
  const box = document.querySelector("pre");
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const at = walker.currentNode.data.indexOf(text);
    if (at < 0) continue;
    const range = document.createRange();
    range.setStart(walker.currentNode, at);
    range.setEnd(walker.currentNode, at + text.length);
    return new Set([...range.getClientRects()].map(({ top }) => top)).size;
  }
}`;

function linesOf(page: Page, text: string): Promise<number> {
  return page.evaluate<number>(`(${LINES_OF})(${JSON.stringify(text)})`);
}

test("in a laptop's window only the boxes scroll, and Kit's output fits them", async () => {
  const project = createTinyProject();
  const jobs = createJobs(project);
  leaveRun(project, `${LINE}\n${STEP}\n`.repeat(50));
  const { url } = await startKitUi(project);
  const page = await openPage(url);
  await page.getByText("run ended: failed").waitFor();
  await page.locator("tbody tr").first().waitFor();
  for (const [width, height] of SIZES) {
    await page.setViewportSize({ width, height });
    expect(await page.evaluate(PAGE_SCROLLS), `home ${width}×${height}`).toBe(0);
    expect(await linesOf(page, LINE), `${width}`).toBe(1);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await linesOf(page, STEP)).toBe(1);

  for (const [status, { job }] of Object.entries(jobs)) {
    await page.goto(`${url}#/jobs/${job.id}`);
    await page.getByRole("status").getByText(status).waitFor();
    if (status !== "queued") await page.getByText("[started]").waitFor();
    for (const [width, height] of SIZES) {
      await page.setViewportSize({ width, height });
      expect(await page.evaluate(PAGE_SCROLLS), `${status} ${width}×${height}`).toBe(0);
    }
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(`${url}#/jobs/${jobs.completed.job.id}`);
  await page.getByText("artifacts: 2").waitFor();
  expect(await linesOf(page, '[checkpoint] {"step":3')).toBe(1);

  await page.getByRole("link", { name: "Jobs", exact: true }).click();
  await page.getByText("run ended: failed").waitFor();
  expect(await page.getByRole("link", { name: "Jobs", exact: true }).count()).toBe(0);
});

test("in a short window a job's chart leaves its end visible, however many metrics it has", async () => {
  const project = createTinyProject();
  const metrics = Object.fromEntries(["a", "b", "c", "d"].map((name) => [name, 0.5]));
  const evaluated = { step: 1, metrics, rows: 2, seconds: 1 };
  const events = [
    ...[STARTED, logged(1), logged(2)],
    ...[{ event: "checkpoint.evaluated", data: evaluated } as const, COMPLETED],
  ];
  const { job } = createJob(project, "measured", events);
  const { url } = await startKitUi(project);
  const page = await openPage(`${url}#/jobs/${job.id}`);
  await page.setViewportSize({ width: 1280, height: 640 });
  const end = await page.getByText("artifacts: 0").boundingBox();
  const chart = await page.getByRole("heading", { name: "Loss" }).boundingBox();
  expect(end!.y + end!.height).toBeLessThanOrEqual(chart!.y);
});

test.each([
  [320, "customer-support-triage-bot-v2"],
  [1280, "n".repeat(300)],
])("at %i px only the project's name gives way in the masthead: %s", async (width, name) => {
  const { url } = await startKitUi(createTinyProject());
  const page = await openPage(`${url}#/jobs/none`);
  await page.setViewportSize({ width, height: 800 });
  const links = page.locator(".masthead a");
  const boxes = async () => Promise.all((await links.all()).map((link) => link.boundingBox()));
  const sizes = async () => (await boxes()).map((box) => [box!.width, box!.height]);
  await page.locator(".project").evaluate("(element) => (element.textContent = 'dates')");
  const before = await sizes();
  await page.locator(".project").evaluate(`(element) => (element.textContent = "${name}")`);
  expect(await sizes()).toEqual(before);
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
});

test("in a wide window the list of jobs gets the room", async () => {
  const project = createTinyProject();
  createJob(project, "listed", [STARTED, COMPLETED]);
  const page = await openPage((await startKitUi(project)).url);
  const width = async (window: number) => {
    await page.setViewportSize({ width: window, height: 800 });
    return (await page.locator(".jobs table").boundingBox())!.width;
  };
  expect(await width(1920)).toBeGreaterThan(await width(1280));
});

test("below a short list its ruling goes on, which is no part of a row", async () => {
  const project = createTinyProject();
  createJob(project, "only", [STARTED, COMPLETED]);
  const page = await openPage((await startKitUi(project)).url);
  await page.setViewportSize({ width: 1280, height: 800 });
  const { x, y, height } = (await page.locator("tbody tr").boundingBox())!;
  const ruling = 'getComputedStyle(document.querySelector("tbody tr"), "::after").height';
  expect(await page.evaluate(ruling)).toBe("640px");
  expect(await page.evaluate(PAGE_SCROLLS)).toBe(0);
  await page.mouse.click(x + 10, y + height + 100);
  expect(page.url()).not.toContain("#/jobs/");
});

test("the output box keeps its height beside a manifest that can't be read", async () => {
  const page = await openPage((await startKitUi(createTinyProject("throw new Error()"))).url);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.locator(".run-failed").waitFor();
  expect((await page.locator(".log-box").boundingBox())!.height).toBe(320);
});

test("forced colours leave a running button enabled to the eye, its bar and the rows' rules", async () => {
  const project = createTinyProject(pacedSource());
  const page = await openPage((await startKitUi(project)).url);
  await runButton(page).click();
  await page.locator(".in-flight .label").waitFor();
  await page.locator("tbody tr").waitFor();
  await page.emulateMedia({ forcedColors: "active" });
  const styles = await page.evaluate(FORCED);
  expect(styles).toEqual({ text: true, bar: true, rule: "solid" });
});

const FORCED = `(() => {
  const run = document.querySelector(".run");
  const system = (color) => {
    const probe = document.body.appendChild(document.createElement("i"));
    probe.style.color = color;
    return getComputedStyle(probe).color;
  };
  return {
    text: getComputedStyle(run).color === system("ButtonText"),
    bar: getComputedStyle(run, "::after").backgroundColor === system("Highlight"),
    rule: getComputedStyle(document.querySelector("tbody tr")).borderBottomStyle,
  };
})()`;

test.each([
  [1, 2_000],
  [9, 1_000],
  [123_450, 123_500],
  [999_000, 1_000_500],
  [1_000_010, 1_000_400],
])("labels of the steps %d to %d stay apart and inside the chart", async (first, last) => {
  const project = createTinyProject();
  const { job } = createJob(project, "odd", [STARTED, logged(first, 2), logged(last), COMPLETED]);
  const { url } = await startKitUi(project);
  const page = await openPage(`${url}#/jobs/${job.id}`);
  await page.getByText("artifacts: 0").waitFor();
  for (const width of [320, 360, 390, 768, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    expect(await page.evaluate(PAGE_SCROLLS_SIDEWAYS), `${width}`).toBe(0);
    const plot = (await page.locator("svg[role=img]").boundingBox())!;
    const boxes = await page.evaluate<{ left: number; right: number }[]>(STEP_LABELS);
    expect(boxes.length).toBeGreaterThan(2);
    const ends = boxes.flatMap(({ left, right }) => [left, right]);
    expect(ends, `${width}`).toEqual(ends.toSorted((a, b) => a - b));
    expect(ends.at(-1)).toBeLessThanOrEqual(plot.x + plot.width + 0.1);
    if (width === 1280) expect(plot).toMatchObject({ width: 640, height: 200 });
  }
});
