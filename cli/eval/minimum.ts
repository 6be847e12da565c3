import { InvalidArgumentError } from "commander";
import { KitError } from "../../protocol/error.ts";
import type { Metrics } from "../../protocol/metric.ts";
import type { Comparison } from "../../sdk/metrics/compare.ts";
import { mayHaveFigure } from "../../sdk/metrics/score.ts";
import { figure } from "./comparisonLines.ts";

/** The least that figures may be, by their names. */
export type Minimum = Record<string, number>;

/** Adds one `name=figure` to those before. */
export function parseMinimum(text: string, before: Minimum = {}): Minimum {
  const [, name = "", value = ""] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (name === "" || !/^-?\d*\.?\d+$/.test(value)) {
    throw new InvalidArgumentError("It must be a metric and a figure, such as accuracy=0.9.");
  }
  return { ...before, [name]: Number(value) };
}

/** Before anything is asked. @throws KitError `PROMPT_INVALID` for a metric that there is not */
export function refuseUnknown(min: Minimum, metrics: Metrics): void {
  const unknown = Object.keys(min).find((name) => !mayHaveFigure(metrics, name));
  if (unknown === undefined) return;
  throw new KitError(
    "PROMPT_INVALID",
    `--min names ${unknown}, which is not measured. Use one of ${Object.keys(metrics).join(", ")}.`,
  );
}

/** What is below its minimum, or was not measured, in words. */
export function missedOf({ figures }: Comparison, min: Minimum): string[] {
  return Object.entries(min).flatMap(([name, least]) => {
    const found = figures.find((one) => one.name === name);
    if (!found) return [`${name} has no figure, as no answer has a score`];
    if (found.value >= least) return [];
    return [`${name} is ${figure(found.value)}, below ${figure(least)}`];
  });
}
