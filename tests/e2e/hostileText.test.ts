import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import type { JobEvent } from "../../protocol/event.ts";
import { appendRaw, createJob, logged } from "../jobs.ts";
import { createTinyProject, tinySource } from "../kit.ts";
import { openPage, runButton, useBrowser } from "./browser.ts";
import { startKitUi } from "./kitUi.ts";

useBrowser();

/** The folder for screenshots; none are taken without it. */
const { KIT_SCREENSHOTS } = process.env;

const RIGHT_TO_LEFT = "\u202eevil\u202b\u2067";
const HTML = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script><b>&lt;</b>`;
const ANSI =
  "\u001b[31mred\u001b[0m\u001b]8;;http://evil.example\u0007link\u001b]8;;\u0007\u001b[2J";
const LONG = "w".repeat(100_000);
const HOSTILE = [RIGHT_TO_LEFT, HTML, ANSI, "\u0000\u0007\b\ufeff", LONG];
const ALL = HOSTILE.join(" ");

/** Traces of an attack in the page, and how far the page extends beyond the window. */
const TRACES = `({
  hacked: window.hacked,
  violations: window.violations,
  made: document.querySelectorAll("img, b, iframe, script:not([src]), [onerror], [style]:not(.loss-chart, .tick, .progress)").length,
  links: [...document.querySelectorAll("a")].filter((a) => !a.href.startsWith(location.origin)).length,
  beyond: Math.max(0, document.documentElement.scrollWidth - innerWidth),
  // A long name must not push everything else out of reach.
  isShort: Math.max(0, ...[...document.querySelectorAll("h1, tr, .run:not(.run-failed)")]
    .map((element) => element.offsetHeight)) < 300,
})`;
const UNHARMED = { hacked: undefined, violations: [], made: 0, links: 0, beyond: 0, isShort: true };

/** Whether the page's own words, in elements that end with them, run from left to right. */
const READS_FORWARD = `(element) => {
  const words = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let last;
  while (words.nextNode()) if (words.currentNode.data.trim()) last = words.currentNode;
  const leftOf = (at) => {
    const range = document.createRange();
    range.setStart(last, at);
    range.setEnd(last, at + 1);
    return range.getBoundingClientRect().left;
  };
  const end = last.data.trimEnd().length - 1;
  return leftOf(end - 5) < leftOf(end);
}`;

async function inspect(page: Page, name: string): Promise<void> {
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 800 });
    if (KIT_SCREENSHOTS)
      await page.screenshot({ path: join(KIT_SCREENSHOTS, `${name}-${width}.png`) });
    expect(await page.evaluate(TRACES), `${name} ${width}`).toEqual(UNHARMED);
  }
}

/** A page that records violations of its policy from the first byte on. */
async function openWatched(url: string): Promise<Page> {
  const page = await openPage(url);
  await page.addInitScript(`window.violations = [];
    addEventListener("securitypolicyviolation", (event) => violations.push(event.blockedURI + event.violatedDirective));`);
  await page.reload();
  return page;
}

/** Writes a log that Kit would not: its records are too long. */
function writeJob(project: string, name: string, events: JobEvent[]) {
  const job = createJob(project, name);
  const time = new Date().toISOString();
  const lines = events.map((event) => `${JSON.stringify({ ...event, time })}\n`);
  appendRaw(job, lines.join(""));
  return job;
}

function readForward(page: Page, selector: string): Promise<boolean> {
  const elements = `[...document.querySelectorAll(${JSON.stringify(selector)})]`;
  return page.evaluate(`${elements}.every(${READS_FORWARD})`);
}

test("names, errors, output and events are shown as text, and break neither layout nor policy", async () => {
  const before = `console.log(${JSON.stringify(ALL)});`;
  const project = createTinyProject(tinySource({ name: ALL, before }));
  const data = { model: ALL, parameters: 1, rows: 1, maxSteps: 1 };
  const jobs = HOSTILE.map((name) =>
    writeJob(project, name, [
      { event: "training.started", data },
      logged(1),
      { event: "training.failed", data: { error: name } },
    ]),
  );
  const running = writeJob(project, ALL, [
    { event: "training.started", data },
    logged(1),
    logged(2),
  ]);
  const { url } = await startKitUi(project);
  const page = await openWatched(url);
  await expect.poll(() => page.locator("tbody tr").count()).toBe(6);
  await expect.poll(() => runButton(page).isEnabled()).toBe(true);
  await inspect(page, "home");
  expect(await readForward(page, "tbody :is(.created, .id)")).toBe(true);

  for (const [n, { job }] of [running, ...jobs].entries()) {
    await page.goto(`${url}#/jobs/${job.id}`);
    await page.getByText("[log] step=1").waitFor();
    await inspect(page, `job-${n}`);
    expect(await readForward(page, ".job-head .id")).toBe(true);
  }

  await page.goto(`${url}#/jobs/${encodeURIComponent(`${RIGHT_TO_LEFT}${HTML}`)}`);
  await page.getByText("in this project.").waitFor();
  await inspect(page, "missing");
  expect(await readForward(page, ".missing h1")).toBe(true);

  // End the job ahead of it in the queue.
  running.append({ event: "training.failed", data: { error: ALL.slice(0, 8_000) } });
  running.close();
  await page.goto(`${url}#/`);
  await runButton(page).click();
  await page.getByLabel("Output of kit start").getByText("completed").waitFor();
  await inspect(page, "output");
});

test("the error of a project that does not load is shown as text", async () => {
  const thrown = `throw new Error(${JSON.stringify(ALL)});`;
  const { url } = await startKitUi(createTinyProject(thrown));
  const page = await openWatched(url);
  await runButton(page).getByText("Couldn't read manifest").waitFor();
  await inspect(page, "manifest");
});
