import { openPage } from "../browser.ts";
import { atMost, ratioAtMost } from "../goals.ts";
import { writeFinishedJob } from "../jobs.ts";
import type { Row } from "../row.ts";
import { type Scope, inScope } from "../scope.ts";
import { startKitUi } from "../server.ts";
import { runAlternately, median, time } from "../statistics.ts";

const RUNS = { full: 7, quick: 3, tiny: 1 };
const EVENTS = { full: 1_000_000, quick: 100_000, tiny: 200 };
const FEW_EVENTS = 100;
const BASELINE = `the page with ${FEW_EVENTS} events`;
const LIMIT_MS = 60_000;

export const longJob: Row = {
  number: 9,
  work: "page, job of 1,000,000 events",
  baseline: BASELINE,
  async measure(scope) {
    const { shown, task, heap } = await measureJob(scope, scope.pick(EVENTS));
    return [
      { part: "whole curve on screen", ...shown, unit: "ms", goal: ratioAtMost(12) },
      {
        part: "longest task",
        against: `opening ${BASELINE}`,
        ours: task,
        baseline: shown.baseline,
        unit: "ms",
        goal: ratioAtMost(0.5),
      },
      { part: "peak heap", ours: heap, unit: "MB", goal: atMost(60) },
    ];
  },
};

/** An expression: the loss chart shows the job's last step. */
export function wholeCurve(last: number): string {
  return `document.querySelector("svg[role=img]")?.ariaLabel.includes("to step ${last}:")`;
}

/** Opens the pages of a job with this many events and of one with few, alternating. */
async function measureJob(scope: Scope, events: number) {
  const project = scope.folder();
  const many = writeFinishedJob(scope, project, events);
  const few = writeFinishedJob(scope, project, FEW_EVENTS);
  const { url } = await startKitUi(scope, project);
  const { ours, baseline } = await runAlternately(
    {
      ours: () => openJob(scope, `${url}#/jobs/${many}`, events),
      baseline: () => openJob(scope, `${url}#/jobs/${few}`, FEW_EVENTS),
    },
    scope.pick(RUNS),
  );
  const shown = (runs: Opened[]) => median(runs.map(({ shown }) => shown));
  return {
    shown: { ours: shown(ours), baseline: shown(baseline) },
    task: median(ours.map(({ task }) => task)),
    heap: Math.max(...ours.map(({ heap }) => heap)),
  };
}

interface Opened {
  /** From opening the page to the whole curve, in milliseconds. */
  shown: number;
  /** The longest task, in milliseconds. */
  task: number;
  /** In MB. */
  heap: number;
}

function openJob({ size }: Scope, url: string, last: number): Promise<Opened> {
  return inScope(size, LIMIT_MS, async (scope) => {
    const { page, until, longestTask, heap } = await openPage(scope);
    const shown = await time(async () => {
      await page.goto(url);
      await until(wholeCurve(last));
    });
    return { shown, task: await longestTask(), heap: await heap() };
  });
}
