import { expect, it } from "vitest";
import { alternate, inTurn, median, percentile, shortest } from "../../bench/statistics.ts";

it("a percentile lies between the two nearest samples, in whatever order they come", () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(percentile([30, 10, 20], 0.99)).toBeCloseTo(29.8);
  expect(percentile([5], 0.99)).toBe(5);
});

/** Counts its runs. */
function counter(name: string, runs: string[]) {
  return () => runs.push(name);
}

it("ours and the baseline run in turn, at least seven times after one that is not counted", async () => {
  const runs: string[] = [];
  const pair = { ours: counter("ours", runs), baseline: counter("baseline", runs) };
  const { ours, baseline } = await inTurn(pair);
  expect(runs).toEqual(Array.from({ length: 8 }, () => ["ours", "baseline"]).flat());
  expect(ours).toEqual([3, 5, 7, 9, 11, 13, 15]);
  expect(baseline).toEqual([4, 6, 8, 10, 12, 14, 16]);
});

it("a single run counts, and there is no other", async () => {
  const runs: string[] = [];
  const pair = { ours: counter("ours", runs), baseline: counter("baseline", runs) };
  expect(await inTurn(pair, 1)).toEqual({ ours: [1], baseline: [2] });
});

it("the figures are the medians", async () => {
  const samples = [100, 3, 1, 2];
  const pair = { ours: () => samples.shift() ?? NaN, baseline: () => 7 };
  expect(await alternate(pair, 3)).toEqual({ ours: 2, baseline: 7 });
});

it("the shortest time of each counts, of several runs in each of its turns", async () => {
  const order: string[] = [];
  const times = { ours: [5, 3, 9, 4], baseline: [8, 7, 6, 9] };
  const take = (name: keyof typeof times) => () => {
    order.push(name);
    return Promise.resolve(times[name].shift() ?? NaN);
  };
  const candidates = { ours: take("ours"), baseline: take("baseline") };
  const limits = { turns: 2, times: 2, withinMs: 60_000 };
  expect(await shortest(candidates, limits)).toEqual({ ours: 3, baseline: 6 });
  const turn = ["ours", "ours", "baseline", "baseline"];
  expect(order).toEqual([...turn, ...turn]);
});
