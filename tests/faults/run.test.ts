import { readFileSync } from "node:fs";
import { get } from "node:http";
import { connect } from "node:net";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { createJobStore } from "../../jobs/store.ts";
import { ROUTES } from "../../protocol/http.ts";
import { openPage, runButton, useBrowser } from "../e2e/browser.ts";
import { startKitUi } from "../e2e/kitUi.ts";
import { processesIn } from "../process.ts";
import { readBody } from "../uiServer.ts";
import {
  compareSteps,
  createRunProject,
  endless,
  endlessTraining,
  moreSteps,
  outputOf,
  startRun,
  stepsIn,
  stepsOf,
} from "./endlessRun.ts";
import { LONGER, reportFault } from "./table.ts";

useBrowser();

test("a run goes on with no reader, with twenty, and with readers that stop reading", async () => {
  const READERS = 20;
  const LOGS = 15;
  // Enough output that an idle reader would block a writer that waits for it.
  const callbacks = `onLog: () => void process.stdout.write("x".repeat(100_000) + "\\n")`;
  const project = createRunProject(endlessTraining({ callbacks }));
  const ui = await startKitUi(project);
  const first = readBody(await startRun(ui.url));
  await first.until((text) => text.includes("step "));
  const [job] = createJobStore(project).list();
  const paths = [ROUTES.train, ROUTES.jobEvents(job?.id ?? "")];

  const stalled = (n: number) => {
    const socket = connect(ui.port, "localhost").pause();
    socket.write(`GET /${paths[n % 2]} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    return () => void socket.destroy();
  };
  const reading = (n: number) => {
    const request = get(`${ui.url}${paths[n % 2]}`, (response) => response.resume());
    request.on("error", () => undefined);
    return () => void request.destroy();
  };

  await first.cancel();
  await moreSteps(project, 5);
  let times = 0;
  for (let round = 0; round < LONGER; round++) {
    for (const watch of [stalled, reading]) {
      const leave = Array.from({ length: READERS }, (_, n) => watch(n));
      // A run that waits for a reader stands still.
      await moreSteps(project, LOGS);
      leave.forEach((stop) => stop());
      times += READERS;
    }
  }
  const { lost, doubled } = compareSteps(stepsOf(project).map(({ step }) => step));
  reportFault({
    fault: "Clients of a run that read, stall or disconnect",
    times,
    lost,
    doubled,
    wrongStatus: 0,
  });
  expect({ lost, doubled }).toEqual({ lost: 0, doubled: 0 });
});

test("a tab that is closed, reloaded, left or opened beside changes nothing for the run", async () => {
  const project = createRunProject(endless());
  const ui = await startKitUi(project);
  const page = await openPage(ui.url);
  let wrong = 0;
  let times = 0;
  const check = async (tab: Page) => {
    times++;
    await expect.poll(() => outputOf(tab)).toMatch(/^job \S+ tiny\ntraining [^]*\nstep /);
    expect(await runButton(tab).isDisabled()).toBe(true);
    const answer = await startRun(ui.url);
    await answer.body?.cancel();
    if (answer.status !== 409) wrong++;
    await moreSteps(project, 2);
  };

  await expect.poll(() => runButton(page).isEnabled()).toBe(true);
  await runButton(page).click();
  await check(page);
  for (let round = 0; round < LONGER; round++) {
    await page.locator("tbody tr").click();
    await page.getByText("live").waitFor();
    await page.getByRole("link", { name: "Kit" }).click();
    await check(page);
    await page.reload();
    await check(page);
    const other = await page.context().newPage();
    await other.goto(ui.url);
    await check(other);
    await other.close();
    await check(page);
  }
  const starts = processesIn(project).filter((pid) =>
    readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("\0start"),
  );
  expect(starts).toHaveLength(1);
  expect(createJobStore(project).list()).toHaveLength(1);
  const { lost, doubled } = compareSteps(stepsIn(await outputOf(page)));
  reportFault({
    fault: "Tab closed, reloaded, left or duplicated; button clicked twice",
    times,
    lost,
    doubled,
    wrongStatus: wrong,
  });
  expect({ wrong, lost, doubled }).toEqual({ wrong: 0, lost: 0, doubled: 0 });
});
