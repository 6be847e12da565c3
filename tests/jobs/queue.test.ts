import { renameSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { waitForTurn } from "../../jobs/queue.ts";
import { createJobStore } from "../../jobs/store.ts";
import type { OwnedJob } from "../../jobs/store.ts";
import { COMPLETED, CONFIG, STARTED, createForeignJob, createJob } from "../jobs.ts";
import { createProject } from "../project.ts";

const never = new AbortController().signal;

/** The order in which jobs get their turn. */
function watchTurns(project: string) {
  const turns: string[] = [];
  return {
    turns,
    wait: async (job: OwnedJob, signal = never) => {
      await waitForTurn(createJobStore(project), job.job.id, signal);
      turns.push(job.job.name);
      job.append(STARTED);
    },
  };
}

/** Jobs are ordered by the millisecond of their creation. */
async function nextMillisecond(): Promise<void> {
  const now = Date.now();
  await expect.poll(() => Date.now(), { interval: 1 }).toBeGreaterThan(now);
}

test("jobs train one after another, first come first served", async () => {
  const project = createProject();
  const { turns, wait } = watchTurns(project);
  const first = createJob(project, "first");
  await nextMillisecond();
  const second = createJob(project, "second");
  await nextMillisecond();
  const third = createJob(project, "third");
  const thirdTurn = wait(third);
  const secondTurn = wait(second);
  await wait(first);
  expect(turns).toEqual(["first"]);
  first.append(COMPLETED);
  await secondTurn;
  expect(turns).toEqual(["first", "second"]);
  second.append({ event: "training.cancelled", data: { step: 1 } });
  await thirdTurn;
  expect(turns).toEqual(["first", "second", "third"]);
});

test("a job goes on when the owner of the one before it is killed", async () => {
  const project = createProject();
  const { turns, wait } = watchTurns(project);
  const { owner } = await createForeignJob(project, [STARTED]);
  const turn = wait(createJob(project, "second"));
  await owner.kill();
  await turn;
  expect(turns).toEqual(["second"]);
});

test("a job waits for a later one that trains already", async () => {
  const project = createProject();
  const early = createJob(project, "early");
  await nextMillisecond();
  const { owner } = await createForeignJob(project, [STARTED]);
  const { turns, wait } = watchTurns(project);
  const turn = wait(early);
  expect(createJobStore(project).list()).toHaveLength(2);
  expect(turns).toEqual([]);
  await owner.kill();
  await turn;
});

test("a job that has its turn runs, before its first event", async () => {
  const store = createJobStore(createProject());
  const first = store.create("first", CONFIG);
  onTestFinished(first.close);
  const statuses = () => store.list().map(({ status }) => status);
  expect(statuses()).toEqual(["queued"]);
  await waitForTurn(store, first.job.id, never);
  expect(statuses()).toEqual(["running"]);
});

test("a job that comes late to the disk waits for one that has its turn already", async () => {
  const project = createProject();
  // Created first, on disk last.
  const early = createJob(project, "early");
  const jobFile = join(early.directory, "job.json");
  renameSync(jobFile, `${jobFile}.late`);
  await nextMillisecond();
  const store = createJobStore(project);
  const late = store.create("late", CONFIG);
  onTestFinished(late.close);
  await waitForTurn(store, late.job.id, never);
  renameSync(`${jobFile}.late`, jobFile);
  const { turns, wait } = watchTurns(project);
  const turn = wait(early);
  expect(turns).toEqual([]);
  late.append(COMPLETED);
  await turn;
});

test("a job steps back when an earlier one comes to the disk while it claims its turn", async () => {
  const project = createProject();
  const early = createJob(project, "early");
  const jobFile = join(early.directory, "job.json");
  renameSync(jobFile, `${jobFile}.late`);
  await nextMillisecond();
  const store = createJobStore(project);
  const late = store.create("late", CONFIG);
  onTestFinished(late.close);
  const claims: boolean[] = [];
  const watched = {
    ...store,
    claimTurn(id: string, hasTurn: boolean) {
      claims.push(hasTurn);
      store.claimTurn(id, hasTurn);
      if (hasTurn && claims.length === 1) renameSync(`${jobFile}.late`, jobFile);
    },
  };
  const turn = waitForTurn(watched, late.job.id, never);
  expect(claims).toEqual([true, false]);
  expect(store.get(late.job.id)?.job.status).toBe("queued");
  early.append(COMPLETED);
  await turn;
  expect(claims).toEqual([true, false, true]);
});

test("finished jobs are not waited for", async () => {
  const project = createProject();
  createJob(project, "done", [STARTED, COMPLETED]);
  await nextMillisecond();
  await waitForTurn(createJobStore(project), createJob(project).job.id, never);
});

test("waiting rejects with the reason of an abort, before and meanwhile", async () => {
  const project = createProject();
  createJob(project, "first", [STARTED]);
  await nextMillisecond();
  const second = createJob(project, "second");
  const store = createJobStore(project);
  const reason = new Error("cancelled by the user");
  const abort = new AbortController();
  const turn = waitForTurn(store, second.job.id, abort.signal);
  abort.abort(reason);
  await expect(turn).rejects.toBe(reason);
  await expect(waitForTurn(store, second.job.id, abort.signal)).rejects.toBe(reason);
});
