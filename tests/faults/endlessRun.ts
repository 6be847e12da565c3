import { readFileSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import type { Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { createJobStore } from "../../jobs/store.ts";
import { ROUTES } from "../../protocol/http.ts";
import { ENDLESS, createTinyProject, pacedSource, tinySource } from "../kit.ts";
import { signalAll } from "../process.ts";

/** The first two steps are logged, and then each of these. */
const LOGGING_STEPS = 10;

interface Callbacks {
  callbacks?: string;
  before?: string;
}

const options = ({ callbacks = "" }: Callbacks) =>
  `loggingSteps: ${LOGGING_STEPS}, callbacks: { ${callbacks} },`;

/** Source of a run that goes on until it is ended, at a reader's pace. */
export function endless({ before, ...rest }: Callbacks = {}): string {
  return pacedSource({ before, options: options(rest) });
}

/** The same by a training as fast as it can. */
export function endlessTraining({ before, ...rest }: Callbacks = {}): string {
  return tinySource({ before, options: ENDLESS + options(rest) });
}

/** A project whose processes are all killed when the test has finished. */
export function createRunProject(source: string): string {
  const project = createTinyProject(source);
  onTestFinished(() => {
    signalAll(project, "SIGKILL");
  });
  return project;
}

export interface Step {
  step: number;
  /** In milliseconds, by the clock of the run itself. */
  time: number;
}

/** The steps in the log of the project's newest job. */
export function stepsOf(project: string): Step[] {
  const jobs = createJobStore(project);
  const [job] = jobs.list();
  if (!job) return [];
  const lines = readFileSync(jobs.logPath(job.id), "utf8").split("\n").slice(0, -1);
  return lines
    .map((line) => JSON.parse(line) as { event: string; time: string; data: { step: number } })
    .filter(({ event }) => event === "training.log")
    .map(({ time, data: { step } }) => ({ step, time: Date.parse(time) }));
}

/** Waits until the run has logged this many more times, and returns those. */
export async function moreSteps(project: string, count: number): Promise<Step[]> {
  const before = stepsOf(project).length;
  const after = () => stepsOf(project).slice(before);
  await expect.poll(() => after().length).toBeGreaterThanOrEqual(count);
  return after();
}

/** How many steps are not there, and how many are there again. */
export function compareSteps(steps: number[]): { lost: number; doubled: number } {
  const different = new Set(steps);
  const wanted = 2 + (steps.at(-1) ?? 0) / LOGGING_STEPS;
  return { lost: wanted - different.size, doubled: steps.length - different.size };
}

/** The steps that `kit start` has printed. */
export function stepsIn(output: string): number[] {
  return [...stripVTControlCharacters(output).matchAll(/^step +(\d+)\//gm)].map(([, step]) =>
    Number(step),
  );
}

/** Clicks on the button. */
export function startRun(url: string): Promise<Response> {
  return fetch(`${url}${ROUTES.train}`, { method: "POST" });
}

// Includes hidden text, which `innerText` skips.
export const outputOf = async (page: Page): Promise<string> =>
  (await page.getByLabel("Output of kit start").textContent()) ?? "";
