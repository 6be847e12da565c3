import { describe, expect, test } from "vitest";
import {
  type LossPoint,
  CHART,
  MAX_POINTS,
  extentOf,
  pixelExtremes,
  thin,
} from "../../protocol/curve.ts";
import { createRandom } from "../faults/random.ts";

type Shape = (index: number, random: number) => LossPoint;

const SHAPES: Record<string, Shape> = {
  "one step after the other": (step, random) => ({ step, loss: Math.exp(-step / 1e5) + random }),
  "steps that go back now and then": (index, random) => ({
    step: index - 20_000 * Math.floor(index / 50_000),
    loss: random,
  }),
  "many logs of one step": (index, random) => ({ step: Math.floor(index / 700), loss: random }),
  "steps far apart and below 0": (index, random) => ({
    step: -1e9 + index * 12_345.678,
    loss: random ** 9 * 1e300,
  }),
  "gaps that grow": (index, random) => ({ step: index ** 2, loss: random }),
};

/** A random curve with a spike of one point up and one down. */
function curveOf(shape: Shape, count: number): LossPoint[] {
  const random = createRandom();
  const points = Array.from({ length: count }, (_, index) => shape(index, random()));
  points[Math.floor(random() * count)]!.loss = 1e301;
  points[Math.floor(random() * count)]!.loss = -1e301;
  return points;
}

/** The curve as thinned while it grows. */
function grown(points: LossPoint[]): readonly LossPoint[] {
  let curve: readonly LossPoint[] = [];
  for (let at = 0; at < points.length; at += 5_000) {
    curve = thin(curve.concat(points.slice(at, at + 5_000)));
    expect(curve.length).toBeLessThanOrEqual(MAX_POINTS);
  }
  return curve;
}

/** The lowest and highest loss in each of the chart's columns, scaled by the steps of `all`. */
function outline(points: readonly LossPoint[], all: readonly LossPoint[]): [number, number][] {
  const { min, max } = extentOf(all)!.steps;
  const columns = Array.from({ length: CHART.width + 1 }, (): [number, number] => [
    Infinity,
    -Infinity,
  ]);
  for (const { step, loss } of points) {
    const column = columns[Math.floor(((step - min) / (max - min)) * CHART.width)]!;
    column[0] = Math.min(column[0], loss);
    column[1] = Math.max(column[1], loss);
  }
  return columns;
}

describe.each(Object.entries(SHAPES))("a curve of %s, thinned as it grows", (_, shape) => {
  test("keeps first and last point, lowest and highest loss and the range of steps", () => {
    const points = curveOf(shape, 150_000);
    const curve = grown(points);
    expect(curve[0]).toBe(points[0]);
    expect(curve.at(-1)).toBe(points.at(-1));
    expect(extentOf(curve)).toEqual(extentOf(points));
    expect(extentOf(pixelExtremes(curve))).toEqual(extentOf(points));
  });

  test("keeps the whole curve's extremes in each pixel column, or beside it", () => {
    const points = curveOf(shape, 150_000);
    const whole = outline(points, points);
    const thinned = outline(pixelExtremes(grown(points)), points);
    for (const [column, [low, high]] of whole.entries()) {
      const around = thinned.slice(Math.max(0, column - 1), column + 2);
      expect(Math.min(...around.map(([lowest]) => lowest))).toBeLessThanOrEqual(low);
      expect(Math.max(...around.map(([, highest]) => highest))).toBeGreaterThanOrEqual(high);
    }
  });
});

test("thinning a curve repeatedly gives the same points as thinning it once", () => {
  const points = curveOf(SHAPES["one step after the other"]!, 4 * MAX_POINTS);
  const half = points.length / 2;
  const twice = thin([...thin(points.slice(0, half)), ...points.slice(half)]);
  expect(twice).toEqual(thin(points));
});

test("a short curve is unchanged", () => {
  const points = curveOf(SHAPES["one step after the other"]!, MAX_POINTS);
  expect(thin(points)).toBe(points);
});

test("a curve whose steps go back and forth, or stand still, is bounded too", () => {
  const toAndFro = curveOf((index, loss) => ({ step: index % 2 ? 1e6 : index, loss }), 200_000);
  expect(grown(toAndFro)[0]).toBe(toAndFro[0]);
  expect(extentOf(grown(toAndFro))).toEqual(extentOf(toAndFro));
  expect(thin(curveOf((_, loss) => ({ step: 7, loss }), 200_000))).toHaveLength(4);
});

test("a curve whose range of steps is not finite is thinned too", () => {
  const points = curveOf((index, loss) => ({ step: (index / 1e5 - 1) * 1.7e308, loss }), 200_000);
  expect(extentOf(grown(points))).toEqual(extentOf(points));
});
