import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type OwnedJob, createOwnedJob } from "../jobs/ownedJob.ts";
import type { JobEvent } from "../protocol/event.ts";
import { checkOptions } from "../sdk/options.ts";
import { type Scope, deferToEnd } from "./scope.ts";

const NAME = "date-normalizer";
const { config: CONFIG } = checkOptions({
  name: NAME,
  dataset: { type: "jsonl", path: "/data/train.jsonl" },
  batchSize: 8,
  loggingSteps: 10,
});

export const STARTED: JobEvent = {
  event: "training.started",
  data: { model: "kit/nano", parameters: 117_000, rows: 4_000, maxSteps: 400 },
};

export const COMPLETED: JobEvent = { event: "training.completed", data: { artifacts: [] } };

/** As the engine reports it. */
export function logged(step: number): JobEvent {
  return {
    event: "training.log",
    data: {
      step,
      loss: 5 / Math.sqrt(step + 1) + Math.sin(step) / 100,
      learningRate: 0.001,
      gradNorm: 1 + Math.cos(step) / 3,
      epoch: step / 500,
      tokensPerSecond: 6_000 + (step % 97),
    },
  };
}

const EVENTS_AT_ONCE = 10_000;

/** Creates a job that this process owns; closed at the end. */
export function ownJob({ defer }: Scope, project: string, events: JobEvent[] = []): OwnedJob {
  const job = createOwnedJob(project, NAME, CONFIG);
  defer(job.close);
  events.forEach(job.append);
  return job;
}

/** Writes a completed job with this many `training.log` events; returns its id. */
export function writeFinishedJob(scope: Scope, project: string, events: number): string {
  const { job, directory, append, close } = ownJob(scope, project, [STARTED]);
  const file = openSync(join(directory, "events.ndjson"), "a");
  const time = new Date().toISOString();
  for (let step = 1; step <= events;) {
    let lines = "";
    for (let n = 0; n < EVENTS_AT_ONCE && step <= events; n++, step++) {
      const { event, data } = logged(step);
      lines += `${JSON.stringify({ event, time, data })}\n`;
    }
    writeSync(file, lines);
  }
  closeSync(file);
  append(COMPLETED);
  close();
  return job.id;
}

/** Unused folders of finished jobs, by the number of jobs. */
const spare = new Map<number, string[]>();
let spareRoot: string | undefined;

/**
 * Fills a project with finished jobs. Creating thousands takes seconds, so rows reuse the folder.
 * @returns the paths of their `job.json`
 */
export function fillWithJobs(scope: Scope, project: string, count: number): string[] {
  const folder = join(project, ".kit", "jobs");
  const made = spare.get(count)?.pop();
  if (made) {
    mkdirSync(join(project, ".kit"));
    renameSync(made, folder);
  } else {
    makeJobs(project, count);
  }
  const ids = readdirSync(folder).sort();
  scope.defer(() => {
    const own = new Set(ids);
    const added = readdirSync(folder).filter((id) => !own.has(id));
    for (const id of added) rmSync(join(folder, id), { recursive: true });
    keepSpare(folder, count);
  });
  return ids.map((id) => join(folder, id, "job.json"));
}

function keepSpare(folder: string, count: number): void {
  if (spareRoot === undefined) {
    const root = mkdtempSync(join(tmpdir(), "kit-bench-"));
    deferToEnd(() => rmSync(root, { recursive: true }));
    spareRoot = root;
  }
  const kept = spare.get(count) ?? [];
  const path = join(spareRoot, `${count}-${kept.length}`);
  renameSync(folder, path);
  spare.set(count, [...kept, path]);
}

/** Creates one job, and copies its files under other ids. */
function makeJobs(project: string, count: number): void {
  const { job, directory, append, close } = createOwnedJob(project, NAME, CONFIG);
  const steps = Array.from({ length: 40 }, (_, n) => logged(n * 10));
  [STARTED, ...steps, COMPLETED].forEach(append);
  close();
  const read = (name: string) => readFileSync(join(directory, name), "utf8");
  const [file, lease, log] = [read("job.json"), read("lease.json"), read("events.ndjson")];
  for (let n = 1; n < count; n++) {
    const id = `20260101-000000-000-${n.toString(36).padStart(4, "0")}`;
    const copy = join(directory, "..", id);
    mkdirSync(copy);
    writeFileSync(join(copy, "job.json"), file.replaceAll(job.id, id));
    writeFileSync(join(copy, "lease.json"), lease);
    writeFileSync(join(copy, "events.ndjson"), log);
  }
}
