import { expect, test } from "vitest";
import { startForward } from "../forward.ts";
import { GATED, createTinyProject, openGate, tinySource } from "../kit.ts";
import { openPage, runButton, useBrowser } from "./browser.ts";
import { startKitUi } from "./kitUi.ts";

useBrowser();

const SOURCE = tinySource({
  before: GATED,
  options: "maxSteps: 3, saveSteps: 1, callbacks: { onCheckpoint: gate },",
});

test("a page whose connections died without a word follows the run and the job to their ends", async () => {
  const project = createTinyProject(SOURCE);
  const kit = await startKitUi(project);
  const { port, forget } = await startForward({ host: "127.0.0.1", port: kit.port });
  const home = await openPage(`http://127.0.0.1:${port}`);
  await home.clock.install();
  await home.reload();
  await runButton(home).click();
  await home.getByText(/checkpoint .*step-1/).waitFor();
  const job = await home.context().newPage();
  await job.clock.install();
  const href = await home.locator("tbody tr a").first().getAttribute("href");
  await job.goto(`http://127.0.0.1:${port}/${href}`);
  await job.getByText("[checkpoint]").first().waitFor();

  forget();
  openGate(project);
  // Its connection brings nothing any more.
  for (const page of [home, job]) await page.clock.fastForward("00:45");
  await home.getByText("run ended: completed").waitFor();
  await job.getByText("artifacts: 3").waitFor();
  expect(await job.locator("pre").innerText()).toContain("[stream error]");
});

test("a second tab follows the run that the first one starts", async () => {
  const project = createTinyProject(SOURCE);
  const { url } = await startKitUi(project);
  const first = await openPage(url);
  const second = await openPage(url);
  await expect.poll(() => runButton(second).isEnabled()).toBe(true);
  await runButton(first).click();
  await second.getByText(/checkpoint .*step-1/).waitFor();
  expect(await runButton(second).isEnabled()).toBe(false);
  openGate(project);
  await second.getByText("run ended: completed").waitFor();
  expect(await runButton(second).isEnabled()).toBe(true);
});
