import type { LossPoint } from "../stores/jobProgress.ts";

/** In the chart's own units, which are CSS pixels where there is room. */
export const CHART = { width: 640, height: 200 } as const;

export interface LossExtent {
  steps: Range;
  losses: Range;
}

interface Range {
  min: number;
  max: number;
}

/** Lowest and highest step and loss; undefined without points. Pure. */
export function lossExtent(points: readonly LossPoint[]): LossExtent | undefined {
  if (!points.length) return undefined;
  const steps = { min: Infinity, max: -Infinity };
  const losses = { min: Infinity, max: -Infinity };
  for (const { step, loss } of points) {
    widen(steps, step);
    widen(losses, loss);
  }
  return { steps, losses };
}

/**
 * The SVG path through `points` in their order. At most four of the points that follow each other
 * in one pixel column are drawn, the first, last, lowest and highest: the path stays small and no
 * spike is lost. Pure.
 */
export function lossPath(points: readonly LossPoint[]): string {
  const extent = lossExtent(points);
  if (!extent) return "";
  const x = (point: LossPoint) => share(point.step, extent.steps) * CHART.width;
  const y = (point: LossPoint) => (1 - share(point.loss, extent.losses)) * CHART.height;
  const places = reduce(points, (point) => Math.floor(x(point))).map(
    (point) => `${round(x(point))} ${round(y(point))}`,
  );
  // A line needs two ends; a single point becomes a dot through the stroke's round caps.
  if (places.length === 1) places.push(...places);
  return `M${places.join("L")}`;
}

function reduce(points: readonly LossPoint[], column: (point: LossPoint) => number): LossPoint[] {
  const kept: LossPoint[] = [];
  let start = 0;
  while (start < points.length) {
    const current = column(points[start]!);
    let low = start;
    let high = start;
    let end = start + 1;
    for (; end < points.length && column(points[end]!) === current; end++) {
      if (points[end]!.loss < points[low]!.loss) low = end;
      if (points[end]!.loss > points[high]!.loss) high = end;
    }
    const indices = new Set([start, Math.min(low, high), Math.max(low, high), end - 1]);
    for (const index of indices) kept.push(points[index]!);
    start = end;
  }
  return kept;
}

function widen(range: Range, value: number): void {
  if (value < range.min) range.min = value;
  if (value > range.max) range.max = value;
}

/** Where `value` lies in the range, from 0 to 1; in the middle of a range without extent. */
function share(value: number, { min, max }: Range): number {
  // Halves, because the difference of two finite numbers can be infinite.
  return min === max ? 0.5 : (value / 2 - min / 2) / (max / 2 - min / 2);
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
