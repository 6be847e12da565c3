import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Follower, followJob, followSocket } from "../follow.ts";
import { atMost, ratioAtMost } from "../goals.ts";
import { COMPLETED, STARTED, logged, ownJob } from "../jobs.ts";
import { peakMemory } from "../machine.ts";
import type { Row } from "../row.ts";
import { type Scope, inScope } from "../scope.ts";
import { startBareFollow, startKitUi } from "../server.ts";
import { inTurn, median, percentile } from "../statistics.ts";

const GAP_MS = 20;
/** 20 events a second. */
const EVENT_MS = 50;
/** Events per run. */
const EVENTS = { full: 40, quick: 20, tiny: 5 };
const LIMIT_MS = 60_000;

export const latency: Row = {
  number: 7,
  work: "event appended → frame at the client",
  baseline: "a bare append, `fs.watch` and socket write",
  async measure(scope) {
    const project = scope.folder();
    const followed = ownJob(scope, project, [STARTED]);
    const bare = ownJob(scope, project, [STARTED]);
    const { url } = await startKitUi(scope, project);
    const { url: bareUrl } = await startBareFollow(scope, join(bare.directory, "events.ndjson"));
    const ours = await followJob(scope, `${url}api/jobs/${followed.job.id}/events`);
    const baseline = await followSocket(scope, bareUrl);
    const send = async (job: typeof bare, follower: Follower, step: number) => {
      const start = performance.now();
      job.append(logged(step));
      await follower.arrival(step);
      await delay(GAP_MS);
      return (follower.times.get(step) ?? NaN) - start;
    };
    const times = { ours: [] as number[], baseline: [] as number[] };
    const count = scope.pick({ full: 400, quick: 100, tiny: 2 });
    for (let step = 1; step <= count; step++) {
      times.ours.push(await send(followed, ours, step));
      times.baseline.push(await send(bare, baseline, step));
    }
    const p99 = (samples: number[]) => percentile(samples, 0.99);
    return [
      {
        part: "p50",
        ours: median(times.ours),
        baseline: median(times.baseline),
        unit: "ms",
        goal: ratioAtMost(1.5),
      },
      {
        part: "p99",
        ours: p99(times.ours),
        baseline: p99(times.baseline),
        unit: "ms",
        goal: atMost(100),
      },
    ];
  },
};

export const clients: Row = {
  number: 8,
  work: "500 clients following one job at 20 events/s",
  baseline: "one client",
  async measure(scope) {
    const count = scope.pick({ full: 500, quick: 100, tiny: 3 });
    const follow = (clients: number) => () =>
      inScope(scope.size, LIMIT_MS, (inner) => measureClients(inner, clients));
    const { ours, baseline } = await inTurn(
      { ours: follow(count), baseline: follow(1) },
      scope.pick({ full: 7, quick: 3, tiny: 1 }),
    );
    const p99 = (runs: Followed[]) => median(runs.map(({ p99 }) => p99));
    const memory = (runs: Followed[]) => Math.max(...runs.map(({ memory }) => memory));
    const incomplete = Math.max(...ours.map(({ incomplete }) => incomplete));
    return [
      { part: "p99", ours: p99(ours), baseline: p99(baseline), unit: "ms", goal: atMost(250) },
      {
        part: "memory of the server at most",
        ours: memory(ours),
        baseline: memory(baseline),
        unit: "MB",
        goal: atMost(150),
      },
      { part: "clients that lack an event", ours: incomplete, unit: "", goal: atMost(0) },
    ];
  },
};

interface Followed {
  /** From appending an event to its frame, of all clients, in milliseconds. */
  p99: number;
  /** The most that the server has had, in MB. */
  memory: number;
  /** Clients that lack an event. */
  incomplete: number;
}

async function measureClients(scope: Scope, count: number): Promise<Followed> {
  const project = scope.folder();
  const job = ownJob(scope, project, [STARTED]);
  const { url, child } = await startKitUi(scope, project);
  const address = `${url}api/jobs/${job.job.id}/events`;
  const opening = Array.from({ length: count }, () => followJob(scope, address));
  const followers = await Promise.all(opening);
  const appended: number[] = [];
  for (let step = 0; step < scope.pick(EVENTS); step++) {
    appended.push(performance.now());
    job.append(logged(step));
    await delay(EVENT_MS);
  }
  job.append(COMPLETED);
  await Promise.all(followers.map(({ ended }) => ended));
  const times = followers.flatMap(({ times }) =>
    appended.flatMap((start, step) => (times.has(step) ? [times.get(step)! - start] : [])),
  );
  return {
    p99: percentile(times, 0.99),
    memory: peakMemory(child.pid ?? NaN),
    incomplete: followers.filter(({ times }) => times.size < appended.length).length,
  };
}
