import {
  type LossPoint,
  CHART,
  extentOf,
  pixelExtremes,
  fractionIn,
} from "../../protocol/curve.ts";

/**
 * The SVG path through `points`, in order. Of consecutive points in one pixel column it draws the
 * first, last, lowest and highest (and two more where steps go back), so that the path stays small
 * and keeps every spike. Pure.
 */
export function lossPath(points: readonly LossPoint[]): string {
  const extent = extentOf(points);
  if (!extent) return "";
  const coordinates = pixelExtremes(points).map(({ step, loss }) => {
    const x = fractionIn(step, extent.steps) * CHART.width;
    const y = (1 - fractionIn(loss, extent.losses)) * CHART.height;
    return `${round(x)} ${round(y)}`;
  });
  // A single point becomes a zero-length line, which the stroke's round caps draw as a dot.
  if (coordinates.length === 1) coordinates.push(...coordinates);
  return `M${coordinates.join("L")}`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
