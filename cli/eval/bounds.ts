import { InvalidArgumentError } from "commander";
import { KitError } from "../../protocol/error.ts";
import { formatFigure } from "../../protocol/format.ts";
import type { Metrics } from "../../protocol/metric.ts";
import type { Comparison } from "../../sdk/metrics/compare.ts";
import { mayHaveFigure } from "../../sdk/metrics/score.ts";

/** Values by metric name. */
export type Figures = Record<string, number>;

/** Limits that a CI job enforces. */
export interface Bounds {
  /** Lower limits. */
  min: Figures;
  /** Upper limits, for metrics where lower is better. */
  max: Figures;
}

/** Adds one `name=value` to the earlier ones. */
export function parseBound(text: string, before: Figures = {}): Figures {
  const [, name = "", value = ""] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (name === "" || !/^-?\d*\.?\d+$/.test(value)) {
    throw new InvalidArgumentError("It must be a metric and a number, such as accuracy=0.9.");
  }
  return { ...before, [name]: Number(value) };
}

/** Before anything is asked. @throws KitError `USAGE_INVALID` for a metric that there is not */
export function assertKnown(bounds: Bounds, metrics: Metrics): void {
  for (const option of ["min", "max"] as const) {
    const unknown = Object.keys(bounds[option]).find((name) => !mayHaveFigure(metrics, name));
    if (unknown === undefined) continue;
    throw new KitError(
      "USAGE_INVALID",
      `--${option} names ${unknown}, which is not a metric here. Use one of ${Object.keys(metrics).join(", ")}.`,
    );
  }
}

/** Describes each metric that is out of bounds or was not measured. */
export function missedBounds({ figures }: Comparison, { min, max }: Bounds): string[] {
  const names = new Set([...Object.keys(min), ...Object.keys(max)]);
  return [...names].flatMap((name) => {
    const found = figures.find((one) => one.name === name);
    if (!found) return [`${name} has no value, because no answer was scored`];
    const { [name]: lower = -Infinity } = min;
    const { [name]: upper = Infinity } = max;
    if (!(found.value >= lower))
      return [`${name} is ${formatFigure(found.value)}, below ${formatFigure(lower)}`];
    if (!(found.value <= upper))
      return [`${name} is ${formatFigure(found.value)}, above ${formatFigure(upper)}`];
    return [];
  });
}
