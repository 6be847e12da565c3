import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { type Watched, startBrowser } from "../browser.ts";
import { atLeast, atMost, moreAtMost } from "../goals.ts";
import { COMPLETED, STARTED, fillWithJobs, logged, ownJob } from "../jobs.ts";
import type { Measured, Row } from "../row.ts";
import type { Scope } from "../scope.ts";
import { startKitUi } from "../server.ts";
import { alternate, median, time } from "../statistics.ts";

const RUNS = { full: 7, quick: 3, tiny: 1 };
const EVENTS = { full: 1_000_000, quick: 100_000, tiny: 2_000 };
const FEW_EVENTS = 100;
const JOBS = { full: 10_000, quick: 2_000, tiny: 200 };
const FEW_JOBS = 10;
const EVENTS_PER_SECOND = 200;
const FOLLOWED_S = { full: 60, quick: 10, tiny: 1 };
const POLLED_S = { full: 60, quick: 12, tiny: 1 };
const SCROLLED_S = { full: 5, quick: 2, tiny: 0.5 };

/** The loss chart has the job's last step. */
const wholeCurve = (last: number) =>
  `document.querySelector("svg[role=img]")?.ariaLabel.includes("to step ${last},")`;

export const history: Row = {
  number: 9,
  work: "page, job of 1,000,000 events: whole curve on screen",
  baseline: `the page with ${FEW_EVENTS} events`,
  async measure(scope) {
    const { ours, baseline, tasks, heap } = await openHistories(scope, scope.pick(EVENTS));
    return [
      { part: "curve on screen", ours, baseline, unit: "ms", goal: moreAtMost(2_000) },
      { part: "longest task", ours: tasks, unit: "ms", goal: atMost(100) },
      { part: "heap", ours: heap, unit: "MB", goal: atMost(60) },
    ];
  },
};

export const historyGrowth: Row = {
  number: 18,
  work: "row 9, as the job grows",
  baseline: `the page with ${FEW_EVENTS} events`,
  async measure(scope) {
    const lines: Measured[] = [];
    for (const count of [100, 10, 1].map((part) => scope.pick(EVENTS) / part)) {
      const { ours, baseline } = await openHistories(scope, count);
      lines.push({ part: `${count.toLocaleString("en")} events`, ours, baseline, unit: "ms" });
    }
    return lines;
  },
};

export const live: Row = {
  number: 10,
  work: `page, a live job at ${EVENTS_PER_SECOND} events/s`,
  baseline: "the page of a job at rest",
  async measure(scope) {
    const project = scope.folder();
    const job = ownJob(scope, project, [STARTED, logged(0)]);
    const rest = ownJob(scope, project, [STARTED, logged(0)]);
    const { url } = await startKitUi(scope, project);
    const open = await startBrowser(scope);
    const seconds = scope.pick(FOLLOWED_S);
    const idle = await open();
    await idle.page.goto(`${url}#/jobs/${rest.job.id}`);
    await idle.until(wholeCurve(0));
    const watched = await open();
    await watched.page.goto(`${url}#/jobs/${job.job.id}`);
    await watched.until(wholeCurve(0));
    await Promise.all([watched.forget(), idle.forget()]);
    const heaps: number[] = [];
    let longest = 0;
    let step = 0;
    for (let second = 0; second < seconds; second++) {
      if (second % Math.ceil(seconds / 6) === 0) {
        // A collection that is asked for is a task of its own.
        longest = Math.max(longest, await watched.longestTask());
        heaps.push(await watched.heap());
        await watched.forget();
      }
      const end = performance.now() + 1_000;
      for (let event = 1; event <= EVENTS_PER_SECOND; event++) {
        job.append(logged(++step));
        const due = end - 1_000 + (event / EVENTS_PER_SECOND) * 1_000;
        await new Promise((resolve) => setTimeout(resolve, due - performance.now()));
      }
    }
    await watched.until(wholeCurve(step));
    const first = heaps[1] ?? heaps[0] ?? NaN;
    return [
      {
        part: "longest task",
        ours: Math.max(longest, await watched.longestTask()),
        baseline: await idle.longestTask(),
        unit: "ms",
        goal: atMost(50),
      },
      {
        part: "heap at the end, against that after a sixth",
        ours: await watched.heap(),
        baseline: first,
        unit: "MB",
        goal: moreAtMost(2),
      },
    ];
  },
};

export const manyJobs: Row = {
  number: 11,
  work: "page, 10,000 jobs",
  baseline: `${FEW_JOBS} jobs`,
  async measure(scope) {
    const { ours, baseline, many } = await openLists(scope, scope.pick(JOBS));
    await many.forget();
    await many.page.waitForTimeout(scope.pick(POLLED_S) * 1_000);
    const polling = await many.longestTask();
    const frames = await scroll(many, scope.pick(SCROLLED_S));
    return [
      { part: "rows on screen", ours, baseline, unit: "ms", goal: moreAtMost(400) },
      { part: "longest task while polling", ours: polling, unit: "ms", goal: atMost(50) },
      { part: "scrolling", ours: frames, unit: "frames/s", goal: atLeast(58) },
    ];
  },
};

export const jobsGrowth: Row = {
  number: 18,
  work: "row 11, as the list grows",
  baseline: `${FEW_JOBS} jobs`,
  async measure(scope) {
    const lines: Measured[] = [];
    for (const count of [100, 10, 1].map((part) => scope.pick(JOBS) / part)) {
      const { ours, baseline } = await openLists(scope, count);
      lines.push({ part: `${count.toLocaleString("en")} jobs`, ours, baseline, unit: "ms" });
    }
    return lines;
  },
};

/** Median times from opening a job's page to its whole curve, and the most that the long one costs. */
async function openHistories(scope: Scope, count: number) {
  const project = scope.folder();
  const ids = [count, FEW_EVENTS].map((events) => {
    const { job, directory, append, close } = ownJob(scope, project, [STARTED]);
    const path = join(directory, "events.ndjson");
    for (let step = 1; step <= events; step += 10_000) {
      const steps = Array.from({ length: Math.min(10_000, events - step + 1) }, (_, n) => step + n);
      const time = new Date().toISOString();
      const line = (at: number) => {
        const { event, data } = logged(at);
        return `${JSON.stringify({ event, time, data })}\n`;
      };
      appendFileSync(path, steps.map(line).join(""));
    }
    append(COMPLETED);
    close();
    return job.id;
  });
  const { url } = await startKitUi(scope, project);
  const open = await startBrowser(scope);
  const tasks: number[] = [];
  const heaps: number[] = [];
  const openJob = async (
    id: string | undefined,
    last: number,
  ): Promise<Watched & { ms: number }> => {
    const watched = await open();
    const ms = await time(async () => {
      await watched.page.goto(`${url}#/jobs/${id}`);
      await watched.until(wholeCurve(last));
    });
    return { ...watched, ms };
  };
  const figures = await alternate(
    {
      async ours() {
        const { ms, page, longestTask, heap } = await openJob(ids[0], count);
        tasks.push(await longestTask());
        heaps.push(await heap());
        await page.context().close();
        return ms;
      },
      async baseline() {
        const { ms, page } = await openJob(ids[1], FEW_EVENTS);
        await page.context().close();
        return ms;
      },
    },
    scope.pick(RUNS),
  );
  return { ...figures, tasks: median(tasks), heap: Math.max(...heaps) };
}

/** Median times from opening Home to its rows, and a page of the long list. */
async function openLists(scope: Scope, count: number) {
  const open = await startBrowser(scope);
  const urls = await Promise.all(
    [count, FEW_JOBS].map(async (jobs) => {
      const project = scope.folder();
      fillWithJobs(scope, project, jobs);
      return (await startKitUi(scope, project)).url;
    }),
  );
  const openList = async (url: string | undefined): Promise<Watched & { ms: number }> => {
    const watched = await open();
    const ms = await time(async () => {
      await watched.page.goto(url ?? "");
      await watched.page.locator("tbody a").first().waitFor();
    });
    return { ...watched, ms };
  };
  const once = async (url: string | undefined) => {
    const { ms, page } = await openList(url);
    await page.context().close();
    return ms;
  };
  const figures = await alternate(
    { ours: () => once(urls[0]), baseline: () => once(urls[1]) },
    scope.pick(RUNS),
  );
  return { ...figures, many: await openList(urls[0]) };
}

/** Scrolls down as a wheel does; returns how many frames were painted in a second. */
function scroll({ page }: Watched, seconds: number): Promise<number> {
  return page.evaluate<number>(`new Promise((resolve) => {
    const start = performance.now();
    let frames = 0;
    requestAnimationFrame(function next(now) {
      frames++;
      scrollBy(0, 60);
      if (now - start < ${seconds * 1_000}) requestAnimationFrame(next);
      else resolve(frames / ((now - start) / 1000));
    });
  })`);
}
