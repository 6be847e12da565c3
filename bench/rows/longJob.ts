import { openPage } from "../browser.ts";
import { atMost, ratioAtMost } from "../goals.ts";
import { growth, onceASize } from "../growth.ts";
import type { Row } from "../row.ts";
import { type Scope, inScope } from "../scope.ts";
import { startKitUi } from "../server.ts";
import { inTurn, median, time } from "../statistics.ts";
import { writeFinishedJob } from "./replay.ts";

const RUNS = { full: 7, quick: 3, tiny: 1 };
/** Events; row 9 is about the most of them. */
const SIZES = {
  full: [10_000, 100_000, 1_000_000],
  quick: [1_000, 10_000, 100_000],
  tiny: [200],
};
const FEW_EVENTS = 100;
const BASELINE = `the page with ${FEW_EVENTS} events`;
const SHOWN_GOAL = ratioAtMost(12);
const LIMIT_MS = 60_000;

export const longJob: Row = {
  number: 9,
  work: "page, job of 1,000,000 events",
  baseline: BASELINE,
  async measure(scope) {
    const { shown, task, heap } = await measureJob(scope, scope.pick(SIZES).at(-1)!);
    return [
      { part: "whole curve on screen", ...shown, unit: "ms", goal: SHOWN_GOAL },
      {
        part: "longest task",
        against: `opening ${BASELINE}`,
        ours: task,
        baseline: shown.baseline,
        unit: "ms",
        goal: ratioAtMost(0.5),
      },
      { part: "heap at most", ours: heap, unit: "MB", goal: atMost(60) },
    ];
  },
};

export const longJobGrowth: Row = growth({
  work: "row 9 as the job grows",
  baseline: BASELINE,
  sizes: SIZES,
  noun: "events",
  goal: SHOWN_GOAL,
  measure: async (scope, events) => (await measureJob(scope, events)).shown,
});

/** The loss chart has the job's last step. */
export function wholeCurve(last: number): string {
  return `document.querySelector("svg[role=img]")?.ariaLabel.includes("to step ${last}:")`;
}

/** Opens the page of a job of so many events and that of one of few, in turn. */
const measureJob = onceASize(async (scope, events) => {
  const project = scope.folder();
  const many = writeFinishedJob(scope, project, events).id;
  const few = writeFinishedJob(scope, project, FEW_EVENTS).id;
  const { url } = await startKitUi(scope, project);
  const { ours, baseline } = await inTurn(
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
});

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
