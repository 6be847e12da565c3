import { readFileSync, writeFileSync } from "node:fs";
import { expect, onTestFinished, test, vi } from "vitest";
import { RENEWAL_MS, leaseOwner } from "../../disk/lease.ts";
import { describeOwner } from "../../disk/owner.ts";
import { SILENCE_MS } from "../../jobs/ownerWatch.ts";
import { leasePath } from "../../jobs/paths.ts";
import { takeJob } from "../../jobs/remote/takeJob.ts";
import { STARTED, createFarJob, moveToOtherContainer, placeJob } from "../jobs.ts";
import { createProject } from "../project.ts";

/** A remote job that a process follows in another container, and what happens as time passes. */
function followedRemotely(onPause: (passedMs: number, renew: () => void) => void = () => {}) {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const project = createProject();
  const job = createFarJob(project, "far", [STARTED]);
  placeJob(job);
  const { renew } = moveToOtherContainer(job);
  let passedMs = 0;
  // A pause takes no time: the clock goes on by as much.
  async function pause(ms: number): Promise<void> {
    vi.advanceTimersByTime(ms);
    onPause((passedMs += ms), renew);
    await Promise.resolve();
  }
  const notes: string[] = [];
  const taking = takeJob(project, job.job.id, { pause, onNote: (text) => notes.push(text) });
  return { job, notes, taking, passedMs: () => passedMs };
}

test("a job whose follower's container gives no sign for 60 s is taken", async () => {
  const { job, notes, taking, passedMs } = followedRemotely();
  const taken = await taking;
  onTestFinished(taken.close);
  expect(passedMs()).toBeGreaterThan(SILENCE_MS);
  expect(passedMs()).toBeLessThan(SILENCE_MS + RENEWAL_MS);
  expect(leaseOwner(leasePath(job.directory))?.pid).toBe(process.pid);
  expect(taken.job.status).toBe("running");
  expect(notes).toEqual([
    "waiting up to 60 s for the previous follower, which is not on this machine",
  ]);
});

test("a job is not taken whose follower gives a sign meanwhile", async () => {
  const { taking, passedMs } = followedRemotely((passed, renew) => {
    if (passed === SILENCE_MS / 2) renew();
  });
  await expect(taking).rejects.toMatchObject({ code: "JOB_TAKEN" });
  expect(passedMs()).toBe(SILENCE_MS / 2);
});

test("an owner that wakes after its job was taken learns it, writes no more, and leaves the lease alone", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { taken, directory, append, close } = createFarJob(createProject());
  const owner = { ...describeOwner(), startTime: "1" };
  const lease = JSON.stringify({ owner, renewal: 0 });
  writeFileSync(leasePath(directory), lease);
  expect(taken.aborted).toBe(false);
  vi.advanceTimersByTime(RENEWAL_MS);
  expect(taken.reason).toMatchObject({ code: "JOB_TAKEN" });
  expect(() => append(STARTED)).toThrow(taken.reason as Error);
  vi.advanceTimersByTime(2 * RENEWAL_MS);
  close();
  expect(readFileSync(leasePath(directory), "utf8")).toBe(lease);
});
