/** A logged loss; both numbers are finite. */
export interface LossPoint {
  step: number;
  loss: number;
}

/** The chart, in its own units, which are CSS pixels where there is room. */
export const CHART = { width: 640, height: 200 } as const;

/**
 * A curve is thinned to at least this many columns: a quarter to half a pixel each, so that a chart
 * drawn from what is left differs by less than a pixel.
 */
const FINE_COLUMNS = 4 * CHART.width;
const MOST_THINNED = 8 * FINE_COLUMNS;
/** A curve that is thinned as it grows has never more points. */
export const MOST_POINTS = 12 * FINE_COLUMNS;

export interface CurveExtent {
  steps: Range;
  losses: Range;
}

interface Range {
  min: number;
  max: number;
}

/** Lowest and highest step and loss; undefined without points. Pure. */
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

/** Where `value` lies in the range, from 0 to 1; in the middle of a range without extent. */
export function share(value: number, { min, max }: Range): number {
  // Halves, because the difference of two finite numbers can be infinite.
  return min === max ? 0.5 : (value / 2 - min / 2) / (max / 2 - min / 2);
}

/** What a chart needs: of the points that follow each other in one of its pixel columns, the ends. */
export function pixelEnds<P extends LossPoint>(points: readonly P[]): P[] {
  const extent = extentOf(points);
  return extent ? ends(points, ({ step }) => pixel(step, extent)) : [];
}

/**
 * Makes a curve smaller that has more than `MOST_POINTS`; returns any other as it is. Columns are
 * powers of two wide and begin at multiples of it: those of a longer curve hold those of a shorter
 * one whole, so a curve that is thinned again and again as it grows comes to what it comes to when
 * it is thinned once at its end. Pure.
 */
export function thin<P extends LossPoint>(points: readonly P[]): readonly P[] {
  if (points.length <= MOST_POINTS) return points;
  const { steps } = extentOf(points)!;
  const width = 2 ** Math.ceil(Math.log2((steps.max / 2 - steps.min / 2) / (FINE_COLUMNS / 2)));
  // No width when all steps are equal.
  let thinned = ends(points, ({ step }) => (width ? Math.floor(step / width) : 0));
  // Only of steps that go back thousands of times: then the neighbours in time make a column.
  while (thinned.length > MOST_THINNED) thinned = ends(thinned, (_, index) => index >> 3);
  return thinned;
}

function pixel(step: number, { steps }: CurveExtent): number {
  return Math.floor(share(step, steps) * CHART.width);
}

/**
 * Of the points that follow each other in a column: the first, the lowest, the highest and the
 * last, and where steps go back within it the leftmost and the rightmost.
 */
function ends<P extends LossPoint>(
  points: readonly P[],
  columnOf: (point: P, index: number) => number,
): P[] {
  const kept: P[] = [];
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
    if (end - start < 3) kept.push(...points.slice(start, end));
    else {
      const indices = [start, low, high, left, right, end - 1].sort((a, b) => a - b);
      for (const index of new Set(indices)) kept.push(points[index]!);
    }
    start = end;
  }
  return kept;
}

function widen(range: Range, value: number): void {
  if (value < range.min) range.min = value;
  if (value > range.max) range.max = value;
}
