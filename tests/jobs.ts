import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type Owner, describeOwner } from "../disk/owner.ts";
import { withDefaults } from "../engines/training/defaults.ts";
import { type OwnedJob, createOwnedJob } from "../jobs/ownedJob.ts";
import type { JobEvent } from "../protocol/event.ts";
import type { JobConfig } from "../protocol/trainConfig.ts";
import { type Spawned, spawnModule } from "./process.ts";

export const CONFIG: JobConfig = {
  ...withDefaults(
    {
      dataset: { type: "jsonl", path: "/data/train.jsonl" },
      maxSteps: 10,
      batchSize: 1,
      learningRate: 0.001,
      warmupSteps: 0,
      weightDecay: 0,
      loggingSteps: 1,
      saveSteps: 10,
      seed: 1,
    },
    { name: "embedded" },
  ),
  saveTotalLimit: undefined,
  loadBestModelAtEnd: false,
  metricForBestModel: "evalLoss",
  greaterIsBetter: false,
  earlyStoppingPatience: undefined,
  reportTo: undefined,
  resume: false,
};

export const STARTED: JobEvent = {
  event: "training.started",
  data: { model: "kit/nano", parameters: 10, rows: 2, maxSteps: 3 },
};

export const COMPLETED: JobEvent = { event: "training.completed", data: { artifacts: [] } };

export function logged(step: number, loss: number | null = 1 / step): JobEvent {
  return { event: "training.log", data: { step, loss } };
}

/** A job that this process owns, until the test has finished. */
export function createJob(project: string, name = "job", events: JobEvent[] = []): OwnedJob {
  return own(createOwnedJob(project, name, CONFIG), events);
}

/** The same, of a job that other machines train. */
export function createFarJob(project: string, name = "far", events: JobEvent[] = []): OwnedJob {
  return own(createOwnedJob(project, name, CONFIG, { remote: true }), events);
}

function own(job: OwnedJob, events: JobEvent[]): OwnedJob {
  onTestFinished(job.close);
  events.forEach(job.append);
  return job;
}

/** Makes finished jobs with ids that sort before all others. Returns their folders. */
export function fillWithJobs(project: string, count: number, end: JobEvent = COMPLETED): string[] {
  const { job, directory } = createJob(project, "one of many", [STARTED, end]);
  const read = (name: string) => readFileSync(join(directory, name), "utf8");
  const [file, log] = [read("job.json"), read("events.ndjson")];
  rmSync(directory, { recursive: true });
  return Array.from({ length: count }, (_, n) => {
    const id = `20260101-000000-000-${n.toString(36).padStart(4, "0")}`;
    const copy = join(directory, "..", id);
    mkdirSync(copy);
    writeFileSync(join(copy, "job.json"), file.replace(job.id, id));
    writeFileSync(join(copy, "events.ndjson"), log);
    return copy;
  });
}

/** A job whose owner is a process of its own, which does nothing until it is killed. */
export async function createForeignJob(
  project: string,
  events: JobEvent[] = [],
): Promise<{ id: string; owner: Spawned }> {
  const owner = spawnModule(
    `const { createOwnedJob } = await dist("jobs/ownedJob.js");
     const [project, config, events] = process.argv.slice(1);
     const job = createOwnedJob(project, "foreign", JSON.parse(config));
     for (const event of JSON.parse(events)) job.append(event);
     console.log(job.job.id);
     setInterval(() => {}, 1000);`,
    [project, JSON.stringify(CONFIG), JSON.stringify(events)],
  );
  return { id: await owner.line(), owner };
}

/** Makes a job look as if another container owned it. */
export function moveToOtherContainer(job: OwnedJob): { renew: () => void } {
  job.close();
  let renewal = 0;
  const owner: Owner = { ...describeOwner(), pidNamespace: "pid:[1]" };
  const renew = () =>
    writeFileSync(join(job.directory, "lease.json"), JSON.stringify({ owner, renewal: renewal++ }));
  renew();
  return { renew };
}

/** Makes a job look as if the process that owned it had ended. */
export function leaveJob(job: OwnedJob): void {
  job.close();
  const owner: Owner = { ...describeOwner(), startTime: "1" };
  writeFileSync(join(job.directory, "lease.json"), JSON.stringify({ owner, renewal: 0 }));
}

/** A job that runs remotely, and that this process owns until the test has finished. */
export function placeJob(job: OwnedJob): void {
  job.recordRemote({ where: "the far cluster", address: "http://far", checkpoints: "/far/runs" });
}

export function logOf(job: OwnedJob): string {
  return join(job.directory, "events.ndjson");
}

/** The bytes of a job's log, and after which of them a record ends. */
export function recordEnds(path: string): number[] {
  const bytes = readFileSync(path);
  return [...bytes.keys()].filter((at) => bytes[at] === 0x0a).map((at) => at + 1);
}

export function appendRaw(job: OwnedJob, bytes: string | Buffer): void {
  appendFileSync(logOf(job), bytes);
}
