import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Trainer, type TrainerOptions, createTrainer } from "kit";
import { onTestFinished } from "vitest";
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

/** What the job's log holds now. */
export function readEvents(project: string, jobId: string): LoggedEvent[] {
  const log = readFileSync(join(project, ".kit", "jobs", jobId, "events.ndjson"), "utf8");
  return log
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as LoggedEvent);
}
