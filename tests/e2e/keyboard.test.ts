import { rmSync } from "node:fs";
import { expect, test } from "vitest";
import { createJob } from "../jobs.ts";
import { GATED, closeGate, createTinyProject, openGate, tinySource } from "../kit.ts";
import { openPage, runButton, useBrowser } from "./browser.ts";
import { startKitUi } from "./kitUi.ts";
import { createJobs } from "./statuses.ts";

useBrowser();

test("the keyboard reaches everything, focus is visible, and a refreshed list keeps it", async () => {
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
  // Jobs created in the same millisecond are in any order.
  const names = await page.locator("tbody a").allInnerTexts();
  expect(reached).toEqual(["Kit", "Run training: tiny", "", ...names]);

  // Newer and older rows come and go around the focused one.
  const last = jobs.find(({ job }) => job.name === names.at(-1))!;
  createJob(project, "newer");
  rmSync(jobs.find((job) => job !== last)!.directory, { recursive: true });
  await page.getByText("newer").waitFor();
  expect((await focused()).text).toBe(last.job.name);
  await page.keyboard.press("Enter");
  await page.getByText(last.job.id).waitFor();
  expect(await page.evaluate("document.activeElement.localName")).toBe("main");
  await page.keyboard.press("Tab");
  expect(await page.evaluate("document.activeElement.ariaLabel")).toBe("Event log, last 50 lines");
});

test("the Run training button regains the focus after its run, unless the focus has moved on", async () => {
  const options = "callbacks: { onCompleted: gate },";
  const project = createTinyProject(tinySource({ before: GATED, options }));
  const { url } = await startKitUi(project);
  const page = await openPage(url);
  const focused = () => page.evaluate<string>("document.activeElement.className.split(' ')[0]");
  const run = async () => {
    await expect.poll(() => runButton(page).isEnabled()).toBe(true);
    await runButton(page).focus();
    await page.keyboard.press("Enter");
    await page.getByText("running · started").waitFor();
  };
  await run();
  openGate(project);
  await page.getByText("run ended").waitFor();
  await expect.poll(focused).toBe("run");
  closeGate(project);
  await run();
  await page.keyboard.press("Tab");
  expect(await focused()).toBe("log-box");
  openGate(project);
  await page.getByText("run ended").waitFor();
  await expect.poll(() => runButton(page).isEnabled()).toBe(true);
  expect(await focused()).toBe("log-box");
});

const DESCRIBE_FOCUS = `(({ outlineStyle, outlineWidth }) => ({
  text: document.activeElement.innerText.trim(),
  outline: outlineStyle + " " + outlineWidth,
}))(getComputedStyle(document.activeElement))`;
