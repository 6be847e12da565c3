/** A logged loss. Both numbers are finite. */
export interface LossPoint {
  step: number;
  loss: number;
}

/** The chart's size in SVG units, which are CSS pixels unless the window is narrow. */
export const CHART = { width: 640, height: 200 } as const;

/**
 * Maximum columns of a thinned curve. Each is a quarter to half a pixel wide, so the thinned chart
 * differs by less than a pixel.
 */
const MAX_COLUMNS = 4 * CHART.width;
const MAX_THINNED = 8 * MAX_COLUMNS;
/** Limit of points in a curve that is thinned as it grows. */
export const MAX_POINTS = 12 * MAX_COLUMNS;

export interface CurveExtent {
  steps: Range;
  losses: Range;
}

interface Range {
  min: number;
  max: number;
}

/** The ranges of step and loss; undefined without points. Pure. */
export function extentOf(points: readonly LossPoint[]): CurveExtent | undefined {
  if (!points.length) return undefined;
  const steps = { min: Infinity, max: -Infinity };
  const losses = { min: Infinity, max: -Infinity };
  for (const { step, loss } of points) {
    widen(steps, step);
    widen(losses, loss);
  }
  return { steps, losses };
}

/** The position of `value` in a range, from 0 to 1; 0.5 if the range is a single number. */
export function fractionIn(value: number, { min, max }: Range): number {
  // Halved, because the difference of two finite numbers can be infinite.
  return min === max ? 0.5 : (value / 2 - min / 2) / (max / 2 - min / 2);
}

/** The points that a chart needs: `extremes` of each of its pixel columns. Pure. */
export function pixelExtremes<P extends LossPoint>(points: readonly P[]): P[] {
  const extent = extentOf(points);
  return extent ? extremes(points, ({ step }) => pixel(step, extent)) : [];
}

/**
 * Thins a curve that has more than `MAX_POINTS`; returns any other unchanged. A column's width is a
 * power of two and its start a multiple of that, so when the curve grows, whole columns merge: thinning
 * it repeatedly gives the same points as thinning it once. Pure.
 */
export function thin<P extends LossPoint>(points: readonly P[]): readonly P[] {
  if (points.length <= MAX_POINTS) return points;
  const { steps } = extentOf(points)!;
  const width = 2 ** Math.ceil(Math.log2((steps.max / 2 - steps.min / 2) / (MAX_COLUMNS / 2)));
  // The width is 0 if all steps are equal.
  let thinned = extremes(points, ({ step }) => (width ? Math.floor(step / width) : 0));
  // If steps go back thousands of times, each column is entered often: merge eight consecutive points.
  while (thinned.length > MAX_THINNED) thinned = extremes(thinned, (_, index) => index >> 3);
  return thinned;
}

function pixel(step: number, { steps }: CurveExtent): number {
  return Math.floor(fractionIn(step, steps) * CHART.width);
}

/**
 * Selects from each run of consecutive points in one column the first, lowest, highest and last, and if
 * steps go back within it, the leftmost and rightmost.
 */
function extremes<P extends LossPoint>(
  points: readonly P[],
  columnOf: (point: P, index: number) => number,
): P[] {
  const selected: P[] = [];
  let start = 0;
  while (start < points.length) {
    const column = columnOf(points[start]!, start);
    let low = start;
    let high = start;
    let left = start;
    let right = start;
    let end = start + 1;
    for (; end < points.length && columnOf(points[end]!, end) === column; end++) {
      const { step, loss } = points[end]!;
      if (loss < points[low]!.loss) low = end;
      if (loss > points[high]!.loss) high = end;
      if (step < points[left]!.step) left = end;
      if (step >= points[right]!.step) right = end;
    }
    if (end - start < 3) selected.push(...points.slice(start, end));
    else {
      const indices = [start, low, high, left, right, end - 1].sort((a, b) => a - b);
      for (const index of new Set(indices)) selected.push(points[index]!);
    }
    start = end;
  }
  return selected;
}

function widen(range: Range, value: number): void {
  if (value < range.min) range.min = value;
  if (value > range.max) range.max = value;
}
