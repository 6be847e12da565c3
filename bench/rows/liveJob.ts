import { openPage } from "../browser.ts";
import { atMost, moreAtMost } from "../goals.ts";
import { STARTED, logged, ownJob } from "../jobs.ts";
import type { Row } from "../row.ts";
import type { Scope } from "../scope.ts";
import { startKitUi } from "../server.ts";
import { wholeCurve } from "./longJob.ts";

const EVENTS_PER_SECOND = 200;
const SECONDS = { full: 60, quick: 12, tiny: 0.5 };
/** How often the heap is measured, each time after the same number of events. */
const PARTS = { full: 6, quick: 6, tiny: 1 };

export const liveJob: Row = {
  number: 10,
  work: `page, a live job at ${EVENTS_PER_SECOND} events/s`,
  baseline: "the page of a job at rest",
  async measure(scope) {
    const project = scope.folder();
    const { url } = await startKitUi(scope, project);
    const live = await openJob(scope, project, url);
    const idle = await openJob(scope, project, url);
    const parts = scope.pick(PARTS);
    const seconds = scope.pick(SECONDS);
    const perPart = (seconds / parts) * EVENTS_PER_SECOND;
    const tasks: number[] = [];
    const heaps: number[] = [];
    await idle.forget();
    for (let part = 0; part < parts; part++) {
      // The requested garbage collection is itself a long task.
      await live.forget();
      await report(live.job, part * perPart, perPart);
      await live.until(wholeCurve((part + 1) * perPart));
      tasks.push(await live.longestTask());
      heaps.push(await live.heap());
    }
    const oneRunOf = `${seconds} s`;
    return [
      {
        part: "longest task",
        oneRunOf,
        ours: Math.max(...tasks),
        baseline: await idle.longestTask(),
        unit: "ms",
        goal: atMost(50),
      },
      {
        part: "heap at the end",
        oneRunOf,
        ours: heaps.at(-1)!,
        baseline: heaps[0],
        against: "after a sixth of the time",
        unit: "MB",
        goal: moreAtMost(2),
      },
    ];
  },
};

/** Opens the page of a job that this process owns, with a first point of its curve. */
async function openJob(scope: Scope, project: string, url: string) {
  const job = ownJob(scope, project, [STARTED, logged(0)]);
  const watched = await openPage(scope);
  await watched.page.goto(`${url}#/jobs/${job.job.id}`);
  await watched.until(wholeCurve(0));
  return { ...watched, job };
}

/** Reports the steps after `step` at a fixed rate. */
async function report({ append }: ReturnType<typeof ownJob>, step: number, count: number) {
  const start = performance.now();
  for (let n = 1; n <= count; n++) {
    const due = start + (n / EVENTS_PER_SECOND) * 1_000;
    await new Promise((resolve) => setTimeout(resolve, due - performance.now()));
    append(logged(step + n));
  }
}
