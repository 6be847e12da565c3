import { expect, test } from "vitest";
import { createAnswerProgress } from "../../sdk/metrics/answerProgress.ts";

test("how far asking is has a time left once the first 16, which are asked at once, are answered", () => {
  let now = 0;
  const reports: object[] = [];
  const progress = createAnswerProgress(
    100,
    (report) => reports.push(report),
    () => now,
  );
  progress.begin();
  for (let count = 1; count <= 100; count++) {
    now = 30_000 + count * 100;
    progress.show(count);
    if (count === 1) expect(progress.text()).toBe("1 of 100");
    if (count === 50) expect(progress.text()).toBe("50 of 100, 35s left");
  }
  expect(reports.slice(0, 3)).toEqual([
    { answered: 0, rows: 100 },
    { answered: 1, rows: 100 },
    { answered: 21, rows: 100, secondsLeft: 121 },
  ]);
  expect(reports.at(-1)).toEqual({ answered: 100, rows: 100, secondsLeft: 0 });
  expect(reports).toHaveLength(7);
});

test("asking that takes long is reported a hundred times at most, and of its beginning and end", () => {
  let now = 0;
  let reports = 0;
  const progress = createAnswerProgress(
    100_000,
    () => reports++,
    () => now,
  );
  progress.begin();
  for (let count = 1; count <= 100_000; count++) {
    now += 1_000;
    progress.show(count);
  }
  expect(reports).toBe(101);
});

test("answers that are known shorten no time", () => {
  let now = 0;
  const progress = createAnswerProgress(100, undefined, () => now);
  progress.begin();
  for (let count = 1; count <= 60; count++) progress.show(count, count);
  expect(progress.text()).toBe("60 of 100");
  for (let count = 61; count <= 80; count++) {
    now += 1_000;
    progress.show(count, 60);
  }
  expect(progress.text()).toBe("80 of 100, 20s left");
});
