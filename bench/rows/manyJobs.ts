import { type Watched, openPage } from "../browser.ts";
import { atLeast, atMost, moreAtMost } from "../goals.ts";
import { fillWithJobs } from "../jobs.ts";
import type { Row } from "../row.ts";
import { type Scope, inScope } from "../scope.ts";
import { startKitUi } from "../server.ts";
import { alternate, time } from "../statistics.ts";

const RUNS = { full: 7, quick: 3, tiny: 1 };
/** Jobs; row 11 is about the most of them. */
const SIZES = { full: [100, 1_000, 10_000], quick: [20, 200, 2_000], tiny: [100] };
const FEW_JOBS = 10;
const POLLED_S = { full: 60, quick: 12, tiny: 0.5 };
const SCROLLED_S = { full: 5, quick: 2, tiny: 0.2 };
const LIMIT_MS = 60_000;

export const manyJobs: Row = {
  number: 11,
  work: "page, 10,000 jobs",
  baseline: `${FEW_JOBS} jobs`,
  async measure(scope) {
    const { rows, url } = await open(scope, scope.pick(SIZES).at(-1)!);
    const many = await openPage(scope);
    await openList(many, url);
    await many.forget();
    await many.page.waitForTimeout(scope.pick(POLLED_S) * 1_000);
    const polling = await many.longestTask();
    const frames = await scroll(many, scope.pick(SCROLLED_S));
    return [
      { part: "rows on screen", ...rows, unit: "ms", goal: moreAtMost(400) },
      { part: "longest task while polling", ours: polling, unit: "ms", goal: atMost(50) },
      { part: "scrolling", ours: frames, unit: "frames/s", goal: atLeast(58) },
    ];
  },
};

export const manyJobsGrowth: Row = {
  number: 18,
  work: "row 11 as the list grows",
  baseline: `${FEW_JOBS} jobs`,
  async measure(scope) {
    const lines = [];
    for (const count of scope.pick(SIZES)) {
      const rows = measured.get(count) ?? (await open(scope, count)).rows;
      lines.push({
        part: `${count.toLocaleString("en")} jobs`,
        ...rows,
        unit: "ms" as const,
        goal: moreAtMost(400),
      });
    }
    return lines;
  },
};

/** By jobs, so that row 18 shows what row 11 has measured. */
const measured = new Map<number, { ours: number; baseline: number }>();

/** Median times from opening Home to its rows, and the URL of the long list. */
async function open(scope: Scope, count: number) {
  const many = await startFilled(scope, count);
  const few = await startFilled(scope, FEW_JOBS);
  const once = (url: string) =>
    inScope(scope.size, LIMIT_MS, async (inner) => openList(await openPage(inner), url));
  const rows = await alternate(
    { ours: () => once(many), baseline: () => once(few) },
    scope.pick(RUNS),
  );
  measured.set(count, rows);
  return { rows, url: many };
}

async function startFilled(scope: Scope, count: number): Promise<string> {
  const project = scope.folder();
  fillWithJobs(scope, project, count);
  return (await startKitUi(scope, project)).url;
}

/** From opening Home to its first row, in milliseconds. */
function openList({ page }: Watched, url: string): Promise<number> {
  return time(async () => {
    await page.goto(url);
    await page.locator("tbody a").first().waitFor();
  });
}

/** Scrolls down as a wheel does; returns how many frames were painted in a second. */
function scroll({ page }: Watched, seconds: number): Promise<number> {
  return page.evaluate<number>(`new Promise((resolve) => {
    let start;
    let frames = -1;
    requestAnimationFrame(function next(now) {
      start ??= now;
      frames++;
      scrollBy(0, 60);
      if (now - start < ${seconds * 1_000}) requestAnimationFrame(next);
      else resolve(frames / ((now - start) / 1000));
    });
  })`);
}
