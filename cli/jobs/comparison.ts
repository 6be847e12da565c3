import { isDeepStrictEqual } from "node:util";
import type { JobSummary, LossSummary } from "../../jobs/jobSummary.ts";
import { formatCount, formatDuration, formatNumber } from "../../protocol/format.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { printable } from "../../protocol/printable.ts";
import type { MetricProgress } from "../../protocol/progress.ts";
import { tableLines } from "../terminal/table.ts";

const UNKNOWN = "–";
/** Maximum length of a shown value. */
const MAX_CHARACTERS = 60;

/** Two jobs side by side, with only the options that differ. */
export interface JobComparison {
  jobs: [JobSummary, JobSummary];
}

export function compareJobs(a: JobSummary, b: JobSummary): JobComparison {
  const [optionsA, optionsB] = [leavesOf(a.options), leavesOf(b.options)];
  const names = [...new Set([...optionsA.keys(), ...optionsB.keys()])];
  const isEqual = (name: string) => isDeepStrictEqual(optionsA.get(name), optionsB.get(name));
  const differing = names.filter((name) => !isEqual(name));
  const onlyDiffering = (leaves: ReadonlyMap<string, unknown>) =>
    Object.fromEntries(
      differing.flatMap((name) => (leaves.has(name) ? [[name, leaves.get(name)]] : [])),
    );
  return {
    jobs: [
      { ...a, options: onlyDiffering(optionsA) },
      { ...b, options: onlyDiffering(optionsB) },
    ],
  };
}

/** Each option by its path, such as `lora.r`. */
function leavesOf(options: Record<string, unknown>, path = ""): Map<string, unknown> {
  return new Map(
    Object.entries(options).flatMap(([name, value]): [string, unknown][] =>
      isRecord(value) ? [...leavesOf(value, `${path}${name}.`)] : [[path + name, value]],
    ),
  );
}

/** A comparison as table lines: the differing options, then the results. */
export function comparisonLines({ jobs }: JobComparison): string[] {
  const row = (name: string, cell: (job: JobSummary) => string | undefined) => [
    name,
    ...jobs.map((job) => truncated(cell(job) ?? UNKNOWN)),
  ];
  const count = (value: number | undefined) => format(value, formatCount);
  const namesOf = (all: (job: JobSummary) => object | undefined) => [
    ...new Set(jobs.flatMap((job) => Object.keys(all(job) ?? {}))),
  ];
  return tableLines([
    row("job", ({ id }) => id),
    row("name", ({ name }) => name),
    row("status", ({ status }) => status),
    ...namesOf(({ options }) => options).map((name) =>
      row(name, ({ options }) => formatOption(options[name])),
    ),
    row("rows", ({ data }) => count(data.rows)),
    row("data", ({ data }) => data.fingerprint),
    row("held out", ({ data }) => count(data.evalRows)),
    row("held-out data", ({ data }) => data.evalFingerprint),
    row("steps", ({ step, steps }) =>
      format(step, (at) => `${formatCount(at)} of ${count(steps) ?? UNKNOWN}`),
    ),
    row("loss", ({ loss }) => format(loss, formatLoss)),
    row("evalLoss", ({ evalLoss }) => format(evalLoss, formatLoss)),
    ...namesOf(({ metrics }) => metrics).map((name) =>
      row(name, ({ metrics }) => format(metrics?.[name], formatNumber)),
    ),
    ...namesOf(({ evaluated }) => evaluated).map((name) =>
      row(name, ({ evaluated }) => format(evaluated?.[name], formatMetric)),
    ),
    row("time", ({ seconds }) => format(seconds, formatDuration)),
  ]);
}

function formatLoss({ last, best, bestStep }: LossSummary): string {
  return `${formatNumber(last)}, best ${formatNumber(best)} at step ${bestStep}`;
}

function formatMetric({ now, before, best, bestStep }: MetricProgress): string {
  const was = before === undefined ? "" : `, before ${formatNumber(before)}`;
  return `${formatNumber(now)}${was}, best ${formatNumber(best)} at step ${bestStep}`;
}

function formatOption(value: unknown): string | undefined {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function format<T>(value: T | undefined, formatter: (value: T) => string): string | undefined {
  return value === undefined ? undefined : formatter(value);
}

/** Shortens at the start: the end of a path says more. */
function truncated(text: string): string {
  const escaped = printable(text);
  return escaped.length > MAX_CHARACTERS ? `…${escaped.slice(1 - MAX_CHARACTERS)}` : escaped;
}
