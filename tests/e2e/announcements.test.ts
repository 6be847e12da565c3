import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { COMPLETED, STARTED, createJob, logged } from "../jobs.ts";
import { createTinyProject } from "../kit.ts";
import { openPage, reloadWithoutAnswers, runButton, useBrowser } from "./browser.ts";
import { startKitUi } from "./kitUi.ts";

useBrowser();

/** Records what a screen reader announces: the text of each live region that changes. */
async function listen(page: Page): Promise<() => Promise<string[]>> {
  await page.evaluate(`{
    window.announced = [];
    const regions = "[role=status], [role=alert], [role=log], [aria-live]";
    new MutationObserver((changes) => {
      const changed = changes.map(({ target }) => (target.closest ? target : target.parentElement).closest(regions));
      for (const region of new Set(changed)) {
        if (region && region.ariaLive !== "off") announced.push(region.innerText.replace(/\\s+/g, " "));
      }
    }).observe(document, { subtree: true, childList: true, characterData: true });
  }`);
  // An emptied region announces nothing.
  return () => page.evaluate<string[]>("announced.filter(Boolean)");
}

test("a job's page announces changes of its status, and no line of its log", async () => {
  const project = createTinyProject();
  const { job, append } = createJob(project, "waits");
  const { url } = await startKitUi(project);
  const page = await openPage(`${url}#/jobs/${job.id}`);
  await page.getByText("queued").waitFor();
  await page.getByText("live", { exact: true }).waitFor();
  const announced = await listen(page);
  append(STARTED);
  await page.getByText("running").waitFor();
  for (const step of [1, 2, 3]) {
    append(logged(step));
    await page.getByText(`[log] step=${step} `).waitFor();
  }
  expect(await announced()).toEqual(["running"]);
  append(COMPLETED);
  await page.getByText("artifacts: ").waitFor();
  await expect.poll(announced).toEqual(["running", "completed artifacts: 0"]);
});

test("home announces that a run begins and ends, and no line of its output", async () => {
  const { url } = await startKitUi(createTinyProject());
  const page = await openPage(url);
  await expect.poll(() => runButton(page).isEnabled()).toBe(true);
  const announced = await listen(page);
  await runButton(page).click();
  await page.getByText("completed in").waitFor();
  await expect.poll(() => runButton(page).isEnabled()).toBe(true);
  await expect
    .poll(announced)
    .toEqual([expect.stringMatching(/^running · started \d+:\d+/), "run ended: completed"]);
});

test("home announces a problem with the project once", async () => {
  const { url } = await startKitUi(createTinyProject('throw new Error("no such thing");'));
  const page = await openPage(url);
  const answer = await reloadWithoutAnswers(page);
  await page.getByText("Reading src/kit/index.ts…").waitFor();
  const announced = await listen(page);
  await answer();
  const wrong = /^Couldn't read manifest: Error: no such thing/;
  await runButton(page).getByText(wrong).waitFor();
  expect(await announced()).toEqual([expect.stringMatching(wrong)]);
});
