import { readFileSync, writeFileSync } from "node:fs";
import { expect, onTestFinished, test, vi } from "vitest";
import { RENEWAL_MS, leaseOwner } from "../../../disk/lease.ts";
import { describeOwner } from "../../../disk/owner.ts";
import { SILENCE_MS } from "../../../jobs/ownerWatch.ts";
import { leasePath } from "../../../jobs/paths.ts";
import { takeJob } from "../../../jobs/remote/takeJob.ts";
import {
  STARTED,
  createFarJob,
  createJob,
  leaveJob,
  moveToOtherContainer,
  placeJob,
} from "../../jobs.ts";
import { spawnModule } from "../../process.ts";
import { createProject } from "../../project.ts";

const PROCESSES = 4;
const ROUNDS = 12;

test("of several processes that take a job at the same moment, one gets it", async () => {
  const project = createProject();
  const racers = Array.from({ length: PROCESSES }, () =>
    spawnModule(
      `const { takeJob } = await dist("jobs/remote/takeJob.js");
       const { createInterface } = await import("node:readline");
       console.log("ready");
       for await (const line of createInterface(process.stdin)) {
         const [id, at] = line.split(" ");
         while (Date.now() < Number(at));
         const taken = await takeJob(process.argv[1], id).catch((error) => error);
         console.log(taken.job ? "won" : taken.code);
       }`,
      [project],
    ),
  );
  for (const { line } of racers) expect(await line()).toBe("ready");
  for (let round = 0; round < ROUNDS; round++) {
    const owned = createJob(project, "far", [STARTED]);
    placeJob(owned);
    leaveJob(owned);
    const at = Date.now() + 20;
    for (const { child } of racers) child.stdin?.write(`${owned.job.id} ${at}\n`);
    const results = await Promise.all(racers.map(({ line }) => line()));
    expect(results.toSorted()).toEqual([...Array<string>(PROCESSES - 1).fill("JOB_TAKEN"), "won"]);
  }
});

test("a job whose owner is there is not taken, and says by whom", async () => {
  const project = createProject();
  const owned = createJob(project, "far", [STARTED]);
  placeJob(owned);
  await expect(takeJob(project, owned.job.id)).rejects.toThrow(
    new RegExp(`^Process ${process.pid} on .* follows job `),
  );
});

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
