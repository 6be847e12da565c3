import { formatCount, formatDuration } from "../../protocol/format.ts";

/** How far the asking of rows is. */
export interface AskingProgress {
  /** The first of them is asked now. */
  begin: () => void;
  /** @param count of rows that are answered */
  show: (count: number) => void;
  /** As `31 of 100, 1m 20s left`; empty before the first answer. */
  text: () => string;
}

/**
 * @param rows that are asked, a count
 * @param now milliseconds, of a clock that never goes back
 */
export function createAskingProgress(rows: number, now = () => performance.now()): AskingProgress {
  let [startedAt, at, count] = [now(), now(), 0];
  return {
    begin() {
      [startedAt, at, count] = [now(), now(), 0];
    },
    show(answered) {
      [at, count] = [now(), answered];
    },
    text() {
      if (count === 0) return "";
      const left = ((rows - count) * (at - startedAt)) / count / 1000;
      return `${formatCount(count)} of ${formatCount(rows)}, ${formatDuration(left)} left`;
    },
  };
}
