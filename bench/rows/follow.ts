import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Follower, followJob, followSocket } from "../follow.ts";
import { atMost, ratioAtMost } from "../goals.ts";
import { STARTED, logged, ownJob } from "../jobs.ts";
import type { Row } from "../row.ts";
import { startBareFollow, startKitUi } from "../server.ts";
import { median, percentile } from "../statistics.ts";

const GAP_MS = 20;

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
