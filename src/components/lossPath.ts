import { type LossPoint, CHART, extentOf, pixelEnds, share } from "../../protocol/curve.ts";

/**
 * The SVG path through `points` in their order. At most four of the points that follow each other
 * in one pixel column are drawn, the first, last, lowest and highest, unless steps go back in it:
 * the path stays small and no spike is lost. Pure.
 */
export function lossPath(points: readonly LossPoint[]): string {
  const extent = extentOf(points);
  if (!extent) return "";
  const places = pixelEnds(points).map(({ step, loss }) => {
    const x = share(step, extent.steps) * CHART.width;
    const y = (1 - share(loss, extent.losses)) * CHART.height;
    return `${round(x)} ${round(y)}`;
  });
  // A line needs two ends; a single point becomes a dot through the stroke's round caps.
  if (places.length === 1) places.push(...places);
  return `M${places.join("L")}`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
