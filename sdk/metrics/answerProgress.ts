import type { EventData } from "../../protocol/event.ts";
import { formatCount, formatDuration, withDigits } from "../../protocol/format.ts";
import { asleepMs } from "../../protocol/sleep.ts";
import { MAX_CONCURRENT } from "./answerRows.ts";

export interface AnswerProgress {
  /** Starts the clock. */
  begin: () => void;
  /**
   * @param count answered rows
   * @param cached how many of them came from the cache. Default: none
   */
  show: (count: number, cached?: number) => void;
  /** `31 of 100, 1m 20s left`; empty before the first answer. */
  text: () => string;
}

/** Minimum time between two reports; there are at most about a hundred. */
const REPORT_MS = 2_000;

/**
 * @param rows total number of rows
 * @param report called at the start, from time to time, and at the end
 * @param now a monotonic clock, in milliseconds
 */
export function createAnswerProgress(
  rows: number,
  report: (progress: Omit<EventData["checkpoint.evaluating"], "step">) => void = () => {},
  now = () => performance.now(),
): AnswerProgress {
  let [startedAt, at, count, cached] = [now(), now(), 0, 0];
  let reported = { at, count };
  /** Undefined until the first batch is answered: its answers all end at about the same time. */
  function secondsLeft(): number | undefined {
    if (count === rows) return 0;
    const timed = count - cached;
    if (timed < Math.min(MAX_CONCURRENT, rows - cached)) return undefined;
    return ((rows - count) * (at - startedAt)) / timed / 1000;
  }

  function emit(): void {
    reported = { at, count };
    const left = secondsLeft();
    const rounded = left !== undefined && { secondsLeft: withDigits(left, 3) };
    report({ answered: count, rows, ...rounded });
  }

  return {
    begin() {
      [startedAt, at, count, cached] = [now(), now(), 0, 0];
      emit();
    },
    show(answered, fromCache = 0) {
      const [before, timed] = [at, count - cached];
      const batchMs = (at - startedAt) * Math.min(1, MAX_CONCURRENT / timed);
      [at, count, cached] = [now(), answered, fromCache];
      if (timed > 0) startedAt += asleepMs(at - before, batchMs);
      const isDue = at - reported.at >= REPORT_MS && (count - reported.count) * 100 >= rows;
      if (isDue || count === rows) emit();
    },
    text() {
      if (count === 0) return "";
      const left = secondsLeft();
      const time = left === undefined ? "" : `, ${formatDuration(left)} left`;
      return `${formatCount(count)} of ${formatCount(rows)}${time}`;
    },
  };
}
