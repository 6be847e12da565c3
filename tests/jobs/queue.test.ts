import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { MAX_GAP_MS } from "../../disk/lease.ts";
import { trainsRemotely } from "../../jobs/jobFile.ts";
import { SILENCE_MS } from "../../jobs/ownerWatch.ts";
import { waitForTurn } from "../../jobs/queue.ts";
import { readRemoteLocation } from "../../jobs/remoteLocation.ts";
import { OWNER_GONE } from "../../jobs/status.ts";
import { createJobStore } from "../../jobs/store.ts";
import {
  COMPLETED,
  STARTED,
  createFarJob,
  createForeignJob,
  createJob,
  placeJob,
} from "../jobs.ts";
import { createProject } from "../project.ts";

const never = new AbortController().signal;

test("a job that runs elsewhere holds nobody up: on its way there, there, and followed no more", async () => {
  const project = createProject();
  const far = createFarJob(project);
  far.claimTurn(true);
  for (const goOn of [() => {}, () => placeJob(far), far.close]) {
    goOn();
    const near = enter(project, "near");
    await near.turn();
    expect([near.store.get(far.job.id)?.job.status, near.status()]).toEqual(["running", "running"]);
    near.job.append(COMPLETED);
  }
});

test("the files of a job that an earlier Kit handed over still say so", () => {
  const project = createProject();
  const { job, directory } = createJob(project, "old");
  const record = { ...job, config: {}, elsewhere: true };
  writeFileSync(join(directory, "job.json"), JSON.stringify(record));
  const location = { where: "a cluster", address: "http://far", checkpoints: "/runs" };
  writeFileSync(join(directory, "placement.json"), JSON.stringify(location));
  expect(trainsRemotely(directory)).toBe(true);
  expect(readRemoteLocation(directory)).toEqual(location);
});

/** A job, and how its owner waits for its turn and begins. */
function enter(project: string, name: string) {
  const store = createJobStore(project);
  const job = createJob(project, name);
  const { id } = job.job;
  return {
    job,
    store,
    status: () => store.get(id)?.job.status,
    turn: async (signal = never) => {
      await waitForTurn(store, job, signal);
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
  const first = enter(project, "first");
  await nextMillisecond();
  const second = enter(project, "second");
  await nextMillisecond();
  const third = enter(project, "third");
  const statuses = () => [first, second, third].map(({ status }) => status());
  const thirdTurn = third.turn();
  const secondTurn = second.turn();
  await first.turn();
  expect(statuses()).toEqual(["running", "queued", "queued"]);
  first.job.append(COMPLETED);
  await secondTurn;
  expect(statuses()).toEqual(["completed", "running", "queued"]);
  second.job.append({ event: "training.cancelled", data: { step: 1 } });
  await thirdTurn;
  expect(statuses()).toEqual(["completed", "cancelled", "running"]);
});

test.each(["stopped", "in a folder that was renamed"])(
  "a job waits for one whose owner is %s for ten minutes, and alive",
  async (what) => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    let project = createProject();
    const { id, owner } = await createForeignJob(project, [STARTED]);
    if (what === "stopped") owner.child.kill("SIGSTOP");
    else renameSync(project, (project += "-renamed"));
    onTestFinished(() => rmSync(project, { recursive: true, force: true }));
    await nextMillisecond();
    const { job, store, status } = enter(project, "next");
    for (let passed = 0; passed < 10 * SILENCE_MS; passed += MAX_GAP_MS) {
      store.list();
      vi.advanceTimersByTime(MAX_GAP_MS);
    }
    expect(store.get(id)).toEqual({ job: expect.objectContaining({ status: "running" }) });
    const waited: string[] = [];
    const turn = waitForTurn(store, job, never, (before) => void waited.push(before.id));
    expect([waited, status()]).toEqual([[id], "queued"]);
    await owner.kill();
    await turn;
    expect(status()).toBe("running");
  },
);

test("a job that its owner gave up without a last event holds up none, though its process lives", async () => {
  const project = createProject();
  const first = enter(project, "first");
  await first.turn();
  await nextMillisecond();
  const second = enter(project, "second");
  expect(second.store.get(first.job.job.id)?.job.status).toBe("running");
  first.job.close();
  await second.turn();
  expect(second.store.get(first.job.job.id)?.error).toBe(OWNER_GONE);
});

test("a job waits for a later one that trains already", async () => {
  const project = createProject();
  const early = enter(project, "early");
  await nextMillisecond();
  const { owner } = await createForeignJob(project, [STARTED]);
  const turn = early.turn();
  expect(early.status()).toBe("queued");
  await owner.kill();
  await turn;
  expect(early.status()).toBe("running");
});

test("a job that has its turn runs, before its first event", async () => {
  const { job, store, status } = enter(createProject(), "first");
  expect(status()).toBe("queued");
  await waitForTurn(store, job, never);
  expect(status()).toBe("running");
});

/** Two jobs. The earlier one comes to the disk last, when the test calls for it. */
async function enterLate(project: string) {
  const early = enter(project, "early");
  const jobFile = join(early.job.directory, "job.json");
  renameSync(jobFile, `${jobFile}.late`);
  await nextMillisecond();
  return {
    early,
    late: enter(project, "late"),
    comeToDisk: () => renameSync(`${jobFile}.late`, jobFile),
  };
}

test("a job that comes late to the disk waits for one that has its turn already", async () => {
  const { early, late, comeToDisk } = await enterLate(createProject());
  await waitForTurn(late.store, late.job, never);
  comeToDisk();
  const turn = early.turn();
  expect([early.status(), late.status()]).toEqual(["queued", "running"]);
  late.job.append(COMPLETED);
  await turn;
});

test("a job steps back when an earlier one comes to the disk while it claims its turn", async () => {
  const { early, late, comeToDisk } = await enterLate(createProject());
  const claims: boolean[] = [];
  const claimTurn = (hasTurn: boolean) => {
    late.job.claimTurn(hasTurn);
    if (claims.push(hasTurn) === 1) comeToDisk();
  };
  const turn = waitForTurn(late.store, { ...late.job, claimTurn }, never);
  expect(claims).toEqual([true, false]);
  expect(late.status()).toBe("queued");
  early.job.append(COMPLETED);
  await turn;
  expect(claims).toEqual([true, false, true]);
});

test("waiting rejects with the reason of an abort, before and meanwhile", async () => {
  const project = createProject();
  const reason = new Error("cancelled by the user");
  const first = enter(project, "first");
  await expect(first.turn(AbortSignal.abort(reason))).rejects.toBe(reason);
  expect(first.status()).toBe("queued");
  await nextMillisecond();
  const abort = new AbortController();
  const turn = enter(project, "second").turn(abort.signal);
  abort.abort(reason);
  await expect(turn).rejects.toBe(reason);
});
