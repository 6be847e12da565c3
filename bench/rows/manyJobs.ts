import { type MeasuredPage, openPage } from "../browser.ts";
import { ratioAtLeast, ratioAtMost } from "../goals.ts";
import { fillWithJobs } from "../jobs.ts";
import type { Row } from "../row.ts";
import { type Scope, inScope } from "../scope.ts";
import { startKitUi } from "../server.ts";
import { alternate, time } from "../statistics.ts";

const RUNS = { full: 7, quick: 3, tiny: 1 };
const JOBS = { full: 10_000, quick: 2_000, tiny: 100 };
const FEW_JOBS = 10;
const BASELINE = `${FEW_JOBS} jobs`;
const POLLED_S = { full: 60, quick: 12, tiny: 0.5 };
const SCROLLED_S = { full: 1, quick: 1, tiny: 0.2 };
const LIMIT_MS = 120_000;

export const manyJobs: Row = {
  number: 11,
  work: "page, 10,000 jobs",
  baseline: BASELINE,
  async measure(scope) {
    const count = scope.pick(JOBS);
    const rows = await measureRows(scope, count);
    const many = await openPage(scope);
    await openList(many, await startFilled(scope, count));
    const few = await openPage(scope);
    await openList(few, await startFilled(scope, FEW_JOBS));
    await many.forget();
    const seconds = scope.pick(POLLED_S);
    await many.page.waitForTimeout(seconds * 1_000);
    const polling = await many.longestTask();
    const painted = await alternate(
      {
        ours: () => scroll(many, scope.pick(SCROLLED_S)),
        baseline: () => scroll(few, scope.pick(SCROLLED_S)),
      },
      scope.pick(RUNS),
    );
    return [
      { part: "rows on screen", ...rows, unit: "ms", goal: ratioAtMost(2.5) },
      {
        part: "longest task while polling",
        oneRunOf: `${seconds} s`,
        against: `opening a list of ${BASELINE}`,
        ours: polling,
        baseline: rows.baseline,
        unit: "ms",
        goal: ratioAtMost(0.2),
      },
      { part: "scrolling", ...painted, unit: "frames/s", goal: ratioAtLeast(0.95) },
    ];
  },
};

/** Opens Home with this many jobs and with few, alternating. */
function measureRows(scope: Scope, count: number) {
  return inScope(scope.size, LIMIT_MS, async (inner) => {
    const many = await startFilled(inner, count);
    const few = await startFilled(inner, FEW_JOBS);
    return alternate(
      { ours: () => openOnce(scope, many), baseline: () => openOnce(scope, few) },
      scope.pick(RUNS),
    );
  });
}

async function startFilled(scope: Scope, count: number): Promise<string> {
  const project = scope.folder();
  fillWithJobs(scope, project, count);
  return (await startKitUi(scope, project)).url;
}

function openOnce({ size }: Scope, url: string): Promise<number> {
  return inScope(size, LIMIT_MS, async (scope) => openList(await openPage(scope), url));
}

/** From opening Home to its first row, in milliseconds. */
function openList({ page }: MeasuredPage, url: string): Promise<number> {
  return time(async () => {
    await page.goto(url);
    await page.locator("tbody a").first().waitFor();
  });
}

/** Scrolls down as a wheel does. @returns painted frames per second */
function scroll({ page }: MeasuredPage, seconds: number): Promise<number> {
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
