import { InvalidArgumentError } from "commander";
import { KitError } from "../../protocol/error.ts";
import { formatMetricValue } from "../../protocol/format.ts";
import type { Metrics } from "../../protocol/metric.ts";
import type { Comparison } from "../../sdk/metrics/compare.ts";
import { mayHaveValue } from "../../sdk/metrics/score.ts";
import { parseDecimal } from "../command.ts";

/** Values by metric name. */
export type MetricValues = Record<string, number>;

/** Limits that a CI job enforces. */
export interface Bounds {
  /** Lower limits. */
  min: MetricValues;
  /** Upper limits, for metrics where lower is better. */
  max: MetricValues;
}

/** Adds one `name=value` to the earlier ones. */
export function parseBound(text: string, before: MetricValues = {}): MetricValues {
  const [, name = "", number = ""] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  const value = parseDecimal(number);
  if (Number.isNaN(value)) {
    throw new InvalidArgumentError("It must be a metric and a number, such as accuracy=0.9.");
  }
  return { ...before, [name]: value };
}

/** @throws KitError `USAGE_INVALID` for a metric that the evaluation doesn't have */
export function assertKnown(bounds: Bounds, metrics: Metrics): void {
  for (const option of ["min", "max"] as const) {
    const unknown = Object.keys(bounds[option]).find((name) => !mayHaveValue(metrics, name));
    if (unknown === undefined) continue;
    throw new KitError(
      "USAGE_INVALID",
      `--${option} names ${unknown}, which is not a metric here. Use one of ${Object.keys(metrics).join(", ")}.`,
    );
  }
}

/** A phrase for each metric that is out of bounds or has no value. */
export function missedBounds({ figures }: Comparison, { min, max }: Bounds): string[] {
  const names = new Set([...Object.keys(min), ...Object.keys(max)]);
  // The names of an aggregate metric's values are known only once it has run.
  const computed = figures.map((figure) => figure.name).join(", ");
  const reason = computed ? `; these have one: ${computed}` : ", because no answer was scored";
  return [...names].flatMap((name) => {
    const metric = figures.find((figure) => figure.name === name);
    if (!metric) return [`${name} has no value${reason}`];
    const { [name]: lower = -Infinity } = min;
    const { [name]: upper = Infinity } = max;
    if (!(metric.value >= lower))
      return [`${name} is ${formatMetricValue(metric.value)}, below ${formatMetricValue(lower)}`];
    if (!(metric.value <= upper))
      return [`${name} is ${formatMetricValue(metric.value)}, above ${formatMetricValue(upper)}`];
    return [];
  });
}
