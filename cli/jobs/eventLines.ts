import { basename, isAbsolute, join } from "node:path";
import type { MetricEvent } from "../../jobs/metricEvents.ts";
import { pathInside } from "../../jobs/paths.ts";
import { datasetPaths } from "../../protocol/dataset.ts";
import { EVAL_LOSS, heldOutValue } from "../../protocol/evaluation.ts";
import {
  type Artifact,
  type EventData,
  type JobEvent,
  type Measured,
  EVALUATED,
} from "../../protocol/event.ts";
import {
  formatCount,
  formatCounted,
  formatDuration,
  formatMetricValue,
} from "../../protocol/format.ts";
import { printable, printableNote } from "../../protocol/printable.ts";
import { NO_PROGRESS, reduceProgress, secondsLeft } from "../../protocol/progress.ts";
import { type TrainConfig, isPretrained, rowsPerStep } from "../../protocol/trainConfig.ts";
import type { JobArguments } from "../../protocol/trainerOptions.ts";
import { type BestValue, lossSummary, resultSummary } from "./result.ts";
import { lostRowWarnings, trainingWarnings } from "./warnings.ts";

/** Column widths for a loss below 100 and for a speed. */
const LOSS_WIDTH = "1.2346".length;
const SPEED_WIDTH = "12.3k".length;

export interface EventLinesOptions {
  config: TrainConfig & Partial<Pick<JobArguments, "metricForBestModel" | "greaterIsBetter">>;
  /** Paths are shown relative to this folder. */
  project: string;
  /** The job's folder, as shown. */
  directory: string;
  /** Whether an artifact's files are on this machine, by its path in the job's folder. */
  isLocal?: (path: string) => boolean;
  /** Metrics up to a step of the job that this one continues. */
  earlierMetrics?: (upTo: number) => readonly MetricEvent[];
  /** The command line that runs `kit` with these arguments in the user's folder. */
  kit?: (words: string) => string;
  /** A monotonic clock, in milliseconds. */
  now?: () => number;
}

/**
 * Turns a job's events into the output of `kit start`: lines that begin with a keyword, with indented
 * details below. Pure except for its clock and `isLocal`.
 */
export function createEventLines(options: EventLinesOptions) {
  const { config, project, directory, now = () => performance.now() } = options;
  const { isLocal = () => true, earlierMetrics = () => [] } = options;
  const { kit = (words) => `npx kit ${words}` } = options;
  const createdAt = now();
  let progress = NO_PROGRESS;
  /** Each step's value of the metric that compares checkpoints, as text. */
  const scores = new Map<number, string>();
  const metric = config.metricForBestModel ?? EVAL_LOSS;
  let best: BestValue | undefined;
  /** The newest artifact; the job's result once it has completed. */
  let last: Artifact | undefined;
  const formatters = {
    path: shownPath,
    inferCommand: kit(`infer ${basename(directory)}`),
    formatLoss: (loss: Measured | undefined) => formatLoss(loss).trimEnd(),
    formatMetricValue,
    metric,
    best: () => best,
  };

  function recordMetric({ event, data }: MetricEvent): void {
    const isEvaluation = event === EVALUATED;
    const value = isEvaluation ? data.metrics[metric] : heldOutValue(data, metric);
    if (value === undefined) return;
    const score =
      metric === EVAL_LOSS ? formatters.formatLoss(value) : formatMetricValue(value ?? NaN);
    scores.set(data.step, `${metric} ${score}`);
    if (value === null) return;
    const sign = config.greaterIsBetter === false ? -1 : 1;
    if (!best || sign * value > sign * best.value) best = { step: data.step, value };
  }

  function startLines(data: EventData["training.started"]): string {
    if (data.resumedStep !== undefined) earlierMetrics(data.resumedStep).forEach(recordMetric);
    const { model, parameters, rows, evalRows, format, tokens, maxSteps, epochs } = data;
    const { lora } = config;
    const ofAdapter = lora ? ` of an adapter (LoRA, r ${lora.r}, alpha ${lora.alpha})` : "";
    const ofFormat = format === undefined ? "" : ` of ${format}`;
    const started = withDetails(`training ${relativePath(model)}`, {
      parameters: formatCount(parameters) + ofAdapter,
      data: shownData(),
      rows: formatCount(rows) + ofFormat,
      ...(evalRows === undefined
        ? {}
        : { "held out": `${formatCounted(evalRows, "row")} to evaluate on` }),
      ...(tokens === undefined ? {} : { tokens: formatCount(tokens) }),
      steps: `${formatCount(maxSteps)} with ${formatCounted(rowsPerStep(config), "row")} each`,
      ...(epochs === undefined ? {} : { epochs: formatCount(epochs) }),
      ...modelDefaults(data),
    });
    return [started, ...lostRowWarnings(data), ...trainingWarnings(config, data)].join("\n");
  }

  /** The defaults that a pretrained model changes. */
  function modelDefaults({ maxLength }: EventData["training.started"]): Record<string, string> {
    const { model, learningRate } = config;
    if (!isPretrained(model)) return {};
    return {
      "row length": `up to ${formatCount(maxLength ?? 0)} tokens`,
      "learning rate": String(learningRate),
    };
  }

  function logLine(data: EventData["training.log"]): string {
    const { steps = config.maxSteps ?? 0 } = progress;
    const step = `step ${String(data.step).padStart(String(steps).length)}/${steps}`;
    const { evalLoss } = data;
    recordMetric({ event: "training.log", data });
    const parts = [step, `loss ${formatLoss(data.loss)}`];
    if (evalLoss !== undefined) parts.push(`eval ${formatLoss(evalLoss)}`);
    const remaining = secondsLeft(progress.first, progress.last, steps);
    if (remaining !== undefined) {
      // Instead of an evalLoss, so that the line still fits on a phone.
      if (evalLoss === undefined) parts.push(`${formatSpeed(data.tokensPerSecond ?? 0)} tok/s`);
      parts.push(`${formatDuration(remaining)} left`);
    }
    return withMetrics(parts.join(" ").trimEnd(), data.metrics);
  }

  function evaluatedLine(data: EventData[typeof EVALUATED]): string {
    recordMetric({ event: EVALUATED, data });
    const { step, metrics } = data;
    const values = Object.entries(metrics).map(([name, value]) => {
      const was = step > 0 ? progress.evaluated?.[name]?.before : undefined;
      const comparedTo = was === undefined ? "" : ` (before ${formatMetricValue(was)})`;
      return `${name} ${formatMetricValue(value)}${comparedTo}`;
    });
    return `evaluated step ${step}: ${values.join(", ")}`;
  }

  function completedLine({ stoppedAt }: EventData["training.completed"]): string {
    const { startedAt = createdAt, at = createdAt } = progress;
    const completed = `completed in ${formatDuration((at - startedAt) / 1000)}`;
    const early = stoppedAt === undefined ? "" : `, stopped early at step ${stoppedAt}`;
    const losses = lossSummary(progress, formatters);
    return endLine(`${completed}${early}${losses && `: ${losses}`}`);
  }

  function cancelledLine({ step }: EventData["training.cancelled"]): string {
    const cancelled = `cancelled at step ${step}`;
    if (last) return endLine(cancelled);
    const sooner = progress.first ? `; to save sooner, lower saveSteps (${config.saveSteps})` : "";
    return `${cancelled}; this job has saved nothing${sooner}`;
  }

  /** One line, so that `grep ^completed` finds all of it. */
  function endLine(outcome: string): string {
    if (!last) return outcome;
    const result = { artifact: last, score: scores.get(last.step) };
    return `${outcome}; ${resultSummary(result, progress, formatters)}`;
  }

  function failedLines(error: string): string {
    const failed = `failed: ${printableNote(error)}`;
    return last ? withDetails(failed, { checkpoint: shownPath(last) }) : failed;
  }

  /** Shortens an absolute path inside the project; returns other names unchanged. */
  function relativePath(name: string): string {
    if (!isAbsolute(name)) return name;
    return pathInside(project, name) ?? name;
  }

  function shownPath({ path }: Pick<Artifact, "path">): string {
    return `${join(directory, printable(path))}${isLocal(path) ? "" : " (on the cluster)"}`;
  }

  function shownData(): string {
    const { type, name, split = "train" } = config.dataset;
    if (type === "code") return "rows from the project's code";
    if (type === "hub") return `${name} (${split})`;
    const [first = "", ...others] = datasetPaths(config.dataset.path).map(relativePath);
    return others.length > 0 ? `${first} and ${formatCount(others.length)} more` : first;
  }

  return {
    /** Empty for an event without a line. */
    text(event: JobEvent): string {
      progress = reduceProgress(progress, { ...event, at: now() });
      switch (event.event) {
        case "training.started":
          return startLines(asPrintable(event.data));
        case "training.log":
          return logLine(event.data);
        // Notes already report it.
        case "training.preparing":
        case "checkpoint.evaluating":
          return "";
        case "checkpoint.evaluated":
          return evaluatedLine(event.data);
        case "checkpoint.saved":
          last = event.data;
          return `checkpoint ${shownPath(last)}`;
        case "training.completed":
          last = event.data.artifacts.at(-1) ?? last;
          return completedLine(event.data);
        case "training.failed":
          return failedLines(event.data.error);
        case "training.cancelled":
          return cancelledLine(event.data);
        default:
          return defaultLine(event);
      }
    },
  };
}

/** An event of another version: its name and its plain fields. */
function defaultLine({ event, data }: { event: string; data: object }): string {
  const fields = Object.entries(asPrintable(data)).flatMap(([name, value]: [string, unknown]) =>
    ["string", "number", "boolean"].includes(typeof value) ? [`${name} ${value as string}`] : [],
  );
  return [event.replace(".", " "), ...fields].join(" ");
}

/** Escapes an engine's texts, so that each stays on one line. */
function asPrintable<Data extends object>(data: Data): Data {
  const fields = Object.entries(data).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === "string" ? printable(value) : value,
  ]);
  return Object.fromEntries(fields) as Data;
}

function withDetails(line: string, details: Record<string, string>): string {
  const width = Math.max(...Object.keys(details).map((name) => name.length));
  const below = Object.entries(details).map(([name, value]) => `  ${name.padEnd(width)}  ${value}`);
  return [line, ...below].join("\n");
}

/** Adds the metrics on one line below. */
function withMetrics(line: string, metrics: EventData["training.log"]["metrics"]): string {
  const values = Object.entries(metrics ?? {}).map(
    ([name, value]) => `${name} ${formatLoss(value).trimEnd()}`,
  );
  return values.length > 0 ? `${line}\n  ${values.join("  ")}` : line;
}

function formatLoss(loss: Measured | undefined): string {
  const text = typeof loss === "number" ? loss.toFixed(loss < 10 ? 4 : 3) : "n/a";
  return text.padEnd(LOSS_WIDTH);
}

function formatSpeed(tokensPerSecond: number): string {
  const whole = Math.round(tokensPerSecond);
  const text = whole < 10_000 ? formatCount(whole) : `${formatCount(whole / 1000)}k`;
  return text.padStart(SPEED_WIDTH);
}
