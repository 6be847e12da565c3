import { type Watched, openPage } from "../browser.ts";
import { atMost, moreAtMost } from "../goals.ts";
import type { Row } from "../row.ts";
import { type Scope, inScope } from "../scope.ts";
import { startKitUi } from "../server.ts";
import { alternate, median, time } from "../statistics.ts";
import { writeFinishedJob } from "./replay.ts";

const RUNS = { full: 7, quick: 3, tiny: 1 };
/** Events; row 9 is about the most of them. */
const SIZES = {
  full: [10_000, 100_000, 1_000_000],
  quick: [1_000, 10_000, 100_000],
  tiny: [200],
};
const FEW_EVENTS = 100;
const LIMIT_MS = 60_000;

export const longJob: Row = {
  number: 9,
  work: "page, job of 1,000,000 events",
  baseline: `the page with ${FEW_EVENTS} events`,
  async measure(scope) {
    const { curve, task, heap } = await opened(scope, scope.pick(SIZES).at(-1)!);
    return [
      { part: "whole curve on screen", ...curve, unit: "ms", goal: moreAtMost(2_000) },
      { part: "longest task", ours: task, unit: "ms", goal: atMost(100) },
      { part: "heap", ours: heap, unit: "MB", goal: atMost(60) },
    ];
  },
};

export const longJobGrowth: Row = {
  number: 18,
  work: "row 9 as the job grows",
  baseline: `the page with ${FEW_EVENTS} events`,
  async measure(scope) {
    const lines = [];
    for (const count of scope.pick(SIZES)) {
      const { curve } = await opened(scope, count);
      lines.push({
        part: `${count.toLocaleString("en")} events`,
        ...curve,
        unit: "ms" as const,
        goal: moreAtMost(2_000),
      });
    }
    return lines;
  },
};

/** The loss chart has the job's last step. */
export function wholeCurve(last: number): string {
  return `document.querySelector("svg[role=img]")?.ariaLabel.includes("to step ${last},")`;
}

type Opened = Awaited<ReturnType<typeof open>>;
/** By events, so that row 18 shows what row 9 has measured. */
const measured = new Map<number, Opened>();

async function opened(scope: Scope, events: number): Promise<Opened> {
  const known = measured.get(events) ?? (await open(scope, events));
  measured.set(events, known);
  return known;
}

/** Median times from opening a job's page to its whole curve, and the most that the long one costs. */
async function open(scope: Scope, events: number) {
  const project = scope.folder();
  const many = writeFinishedJob(scope, project, events).id;
  const few = writeFinishedJob(scope, project, FEW_EVENTS).id;
  const { url } = await startKitUi(scope, project);
  const openJob = (id: string, last: number, look?: (page: Watched) => Promise<void>) =>
    inScope(scope.size, LIMIT_MS, async (inner) => {
      const watched = await openPage(inner);
      const ms = await time(async () => {
        await watched.page.goto(`${url}#/jobs/${id}`);
        await watched.until(wholeCurve(last));
      });
      await look?.(watched);
      return ms;
    });
  const tasks: number[] = [];
  const heaps: number[] = [];
  const curve = await alternate(
    {
      ours: () =>
        openJob(many, events, async ({ longestTask, heap }) => {
          tasks.push(await longestTask());
          heaps.push(await heap());
        }),
      baseline: () => openJob(few, FEW_EVENTS),
    },
    scope.pick(RUNS),
  );
  return { curve, task: median(tasks), heap: Math.max(...heaps) };
}
