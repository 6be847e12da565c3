import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { OwnedJob } from "../../jobs/ownedJob.ts";
import { ask } from "../ask.ts";
import { ratioAtMost } from "../goals.ts";
import { COMPLETED, STARTED, expectJobs, fillWithJobs, ownJob } from "../jobs.ts";
import type { Row } from "../row.ts";
import { startBareServer, startKitUi } from "../server.ts";
import { alternate, inTurn, median } from "../statistics.ts";

const JOBS = { full: 10_000, quick: 1_000, tiny: 10 };
const POLLS = { full: 101, quick: 31, tiny: 1 };
const RUNS = { full: 7, quick: 7, tiny: 1 };
/** A page polls for hours; until a server has answered some changes its code is still being compiled. */
const WARM_UP_JOBS = 8;
/** A folder's modification time is reliable once its last change is this long ago. */
const SETTLE_MS = 2_100;

export const changedList: Row = {
  number: 4,
  work: "the same, warm and changed by one job",
  baseline: "`node:http` sending as many bytes from memory",
  async measure(scope) {
    const project = scope.folder();
    const count = scope.pick(JOBS);
    fillWithJobs(scope, project, count);
    const { url } = await startKitUi(scope, project);
    const body = join(project, "body");
    writeFileSync(body, await firstList(url));
    const bare = await startBareServer(scope, "memory", body);
    let last = "";
    let job: OwnedJob | undefined;
    const changes = [
      () => (job = ownJob(scope, project)),
      () => job?.append(STARTED),
      () => job?.append(COMPLETED),
    ];
    const isWarm = (n: number) => n >= changes.length * WARM_UP_JOBS;
    let run = -1;
    const { ours, baseline } = await inTurn(
      {
        async ours() {
          const change = ++run % changes.length;
          // Until the folder counts as unchanged, each poll reads the names of all jobs.
          if (change === 1 && isWarm(run)) await settle(url);
          changes[change]?.();
          const answer = await ask(`${url}api/jobs`, { "If-None-Match": last });
          if (answer.status !== 200) throw new Error("The change was not seen.");
          expectJobs(answer.body, count);
          last = String(answer.headers.etag);
          return answer.ms;
        },
        baseline: async () => (await ask(bare.url)).ms,
      },
      changes.length * (WARM_UP_JOBS + scope.pick(RUNS)) - 1,
    );
    const figures = (wanted: (change: number) => boolean) => {
      const isCounted = (_: number, n: number) => isWarm(n + 1) && wanted((n + 1) % changes.length);
      return {
        ours: median(ours.filter(isCounted)),
        baseline: median(baseline.filter(isCounted)),
        unit: "ms" as const,
      };
    };
    return [
      { part: "a job begins or ends", ...figures((change) => change > 0), goal: ratioAtMost(1.5) },
      { part: "a job comes", ...figures((change) => change === 0) },
    ];
  },
};

/** Returns the list when the folder of all jobs, just filled, counts as unchanged. */
async function firstList(url: string): Promise<Buffer> {
  await ask(`${url}api/jobs`);
  return settle(url);
}

/** Polls when the last change of the folder of all jobs, which a poll has seen, is long enough ago. */
async function settle(url: string): Promise<Buffer> {
  await delay(SETTLE_MS);
  return (await ask(`${url}api/jobs`)).body;
}

export const unchangedList: Row = {
  number: 5,
  work: "the same, unchanged (304)",
  baseline: "`node:http` answering 304",
  async measure(scope) {
    const project = scope.folder();
    fillWithJobs(scope, project, scope.pick(JOBS));
    ownJob(scope, project, [STARTED]);
    const { url } = await startKitUi(scope, project);
    const bare = await startBareServer(scope, "unchanged");
    await firstList(url);
    const tag = String((await ask(`${url}api/jobs`)).headers.etag);
    const poll = async (address: string) => {
      const { status, ms } = await ask(address, { "If-None-Match": tag });
      if (status !== 304) throw new Error(`The answer was ${status}.`);
      return ms;
    };
    const figures = await alternate(
      { ours: () => poll(`${url}api/jobs`), baseline: () => poll(bare.url) },
      scope.pick(POLLS),
    );
    return [{ ...figures, unit: "ms", goal: ratioAtMost(1.5) }];
  },
};
