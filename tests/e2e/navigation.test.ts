import { once } from "node:events";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { createTinyProject, startKit, tinySource } from "../kit.ts";
import { curve, logLines, openPage, runButton, useBrowser } from "./browser.ts";
import { startKitUi } from "./kitUi.ts";

useBrowser();

/** Options of a job that trains five steps and then waits. */
const HELD = `maxSteps: 5, saveSteps: 5, callbacks: {
  onCompleted: () => new Promise(() => setInterval(() => {}, 1_000)),
}`;

/** How many event streams the page holds, counted by the browser itself. */
async function countStreams(page: Page): Promise<() => number> {
  const session = await page.context().newCDPSession(page);
  const open = new Set<string>();
  session.on("Network.requestWillBeSent", ({ requestId, request }) => {
    if (/\/events\?/.test(request.url)) open.add(requestId);
  });
  session.on("Network.loadingFinished", ({ requestId }) => open.delete(requestId));
  session.on("Network.loadingFailed", ({ requestId }) => open.delete(requestId));
  await session.send("Network.enable");
  return () => open.size;
}

test("going from job to job, and away and back, leaks no stream and mixes no events", async () => {
  const project = createTinyProject(tinySource({ options: HELD }));
  const { url } = await startKitUi(project);
  const page = await openPage(url);
  const streams = await countStreams(page);
  await runButton(page).click();
  const rows = page.locator("tbody tr");
  await rows.first().waitFor();
  const runningId = await rows.first().locator("td").nth(3).innerText();

  // A second job, which waits for its turn.
  startKit(project, ["start"]);
  await expect.poll(() => rows.count()).toBe(2);
  const queuedId = await rows.first().locator("td").nth(3).innerText();
  expect(queuedId > runningId).toBe(true);
  expect(await rows.first().locator("td").first().innerText()).toBe("queued");

  for (let round = 0; round < 5; round++) {
    await page.goto(`${url}#/jobs/${runningId}`);
    await expect.poll(async () => (await logLines(page)).length).toBe(7);
    expect(await curve(page)).toHaveLength(5);
    expect(streams()).toBe(1);
    await page.goto(`${url}#/jobs/${queuedId}`);
    await page.getByText("No training.log events yet.").waitFor();
    expect(await page.locator("pre").innerText()).toBe("");
    await expect.poll(streams).toBe(1);
    await page.goto(`${url}#/`);
    await expect.poll(streams).toBe(0);
  }
});

test("a lost stream is shown, resumes where it broke off, and repeats nothing", async () => {
  const project = createTinyProject(tinySource({ options: HELD }));
  const first = await startKitUi(project);
  const page = await openPage(first.url);
  await runButton(page).click();
  const row = page.locator("tbody tr");
  await row.click();
  await expect.poll(async () => (await logLines(page)).length).toBe(7);
  const drawn = await curve(page);

  first.process.kill("SIGKILL");
  await once(first.process, "exit");
  await expect.poll(() => logLines(page)).toContain("[stream error]");
  await startKitUi(project, first.port);

  await page.getByText("live").waitFor();
  const lines = await logLines(page);
  expect(lines.filter((line) => line.startsWith("[log] "))).toHaveLength(5);
  expect(lines.filter((line) => line.startsWith("[started] "))).toHaveLength(1);
  expect(await curve(page)).toEqual(drawn);
});
