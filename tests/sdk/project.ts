import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Trainer, type TrainerOptions, createTrainer } from "kit";
import { onTestFinished } from "vitest";
import { createJobStore } from "../../jobs/store.ts";
import { TINY_DATA } from "../kit.ts";
import { createProject } from "../project.ts";

const home = process.cwd();

/** A project with a small dataset, which is the current directory until the test has finished. */
export function enterProject(files: Record<string, string> = {}): string {
  const project = createProject({ "data.jsonl": TINY_DATA, ...files });
  process.chdir(project);
  onTestFinished(() => process.chdir(home));
  return project;
}

/** A trainer of a model that takes about a second, most of it compiling. */
export function createTinyTrainer(options: Partial<TrainerOptions> = {}): Trainer {
  return createTrainer({
    name: "tiny",
    model: { layers: 1, heads: 1, width: 8, context: 32 },
    dataset: { type: "jsonl", path: "data.jsonl" },
    maxSteps: 4,
    batchSize: 2,
    loggingSteps: 1,
    saveSteps: 2,
    ...options,
  });
}

export interface LoggedEvent {
  event: string;
  data: Record<string, unknown>;
}

/** The events in the job's log now. */
export function readEvents(project: string, jobId: string): LoggedEvent[] {
  const log = readFileSync(join(project, ".kit", "jobs", jobId, "events.ndjson"), "utf8");
  return log
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as LoggedEvent);
}

/** More steps than a test waits for. */
export const ENDLESS = { maxSteps: 1_000_000, saveSteps: 1_000_000, loggingSteps: 10 };

export function statusOf(project: string, jobId: string) {
  return createJobStore(project).get(jobId);
}

export function jobsOf(project: string) {
  return createJobStore(project).list();
}

/** A function to be a callback, and a promise of its first call's argument. */
export function awaited<T>() {
  let resolveCall: ((context: T) => void) | undefined;
  const call = new Promise<T>((resolve) => (resolveCall = resolve));
  return { call, callback: (context: T) => resolveCall?.(context) };
}
