import { expect, test } from "vitest";
import { NO_LOSSES, addLoss, divergedFrom, risenFrom } from "../../protocol/lossEnds.ts";

const judge = (losses: number[]) => risenFrom(losses.reduce(addLoss, NO_LOSSES));

test.each([
  ["one that blew up", [6.2, 6.4, 44, 311, 650, 921, 1557, 1173, 1109, 472, 275, 178, 106], 6.2],
  [
    "one that blew up at its second step",
    [5.8, 53, 514, 362, 151, 33, 4.2, 5.8, 9.8, 15.3, 10.1],
    5.8,
  ],
  ["one that crept up", [2, 2.05, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.6, 2.7, 2.6, 2.7, 2.6, 2.7], 2],
  ["a short one", [6.2, 6.4, 44, 311, 650], 6.2],
  ["one of two logs that blew up", [6.2, 6.4, 90, 142], 6.2],
  ["one of a single log that blew up", [6.2, 6.4, 310.8], 6.2],
  ["one that ends above after it was below", [3, 2.9, 1, 0.5, ...Array<number>(10).fill(4)], 3],
])("a loss that ends above where it began is noticed: %s", (_, losses, from) => {
  expect(judge(losses)).toBe(from);
});

test.each([
  ["one that fell", [6.2, 5.1, 2.9, 1.9, 1.4, 1.2, 1.1, 1]],
  ["one that rose and came down again", [6.2, 6.3, 900, 44, 12, 6.2, 6.1, 5.9]],
  ["one that stayed at its floor", [1.1, 1.12, 1.08, 1.15, 1.11, 1.13, 1.1, 1.14, 1.12, 1.1]],
  ["one whose last log fell below", [2, 2, 4, 4, 4, 4, 4, 4, 4, 4, 4, 1.9]],
  ["too few to tell", [1, 1.1, 3, 4]],
  ["none", []],
])("no other is: %s", (_, losses) => {
  expect(judge(losses)).toBeUndefined();
});

test("a fine-tuning that starts at its floor is not taken for one that rose, noisy as it may be", () => {
  // A reproducible noise (mulberry32) of a fifth of the loss at each step; a log is the mean of five.
  let state = 42;
  const random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const step = () => 1.1 * (1 + 0.2 * normal());
  const mean = () => Array.from({ length: 5 }, step).reduce((sum, loss) => sum + loss, 0) / 5;
  const runs = Array.from({ length: 1_000 }, () => [
    ...[step(), step()],
    ...Array.from({ length: 78 }, mean),
  ]);
  const noticed = runs.filter((losses) => judge(losses) !== undefined).length;
  expect(noticed).toBeLessThan(50);
});

test.each<[string, number[], number | undefined]>([
  ["one that blew up", [6.2, 6.4, 44, 311, 650, 921, 472, 275, 178, 106], 6.2],
  ["one of two logs", [6.2, 316], 6.2],
  ["one whose second step leapt", [6.2, 90, 80, 85], 6.2],
  ["one that came down again", [6.2, 6.4, 900, 300, 44, 20, 12, 8], undefined],
  ["an outlier at the end", [6.2, 5, 4, 3, 2, 2, 2, 2, 2, 2, 2, 70], undefined],
  ["one that rose nine times", [1, 1, 9, 9, 9, 9], undefined],
  ["the noise of a loss near 0", [0.001, 0.002, 0.02, 0.03, 0.05], undefined],
  ["a single log", [6.2], undefined],
  ["none", [], undefined],
])("a loss that ends ten times above where it began: %s", (_, losses, from) => {
  expect(divergedFrom(losses.reduce(addLoss, NO_LOSSES))).toBe(from);
});
