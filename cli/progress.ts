import type { EventData, JobEvent } from "../protocol/event.ts";

const MINUTE_S = 60;
const HOUR_S = 3_600;

/** Turns a job's events into the lines that `kit start` prints. Pure but for the clock it is given. */
export function createProgress(options: { directory: string; now?: () => number }) {
  const { directory, now = () => performance.now() } = options;
  let startedAt = now();
  let maxSteps = 0;
  /** The first log event: compiling comes before it, so the pace is measured from there. */
  let first: { step: number; at: number } | undefined;

  function logLine(data: EventData["training.log"]): string {
    const width = String(maxSteps).length;
    const parts = [
      `step ${String(data.step).padStart(width)}/${maxSteps}`,
      `loss ${formatLoss(data.loss)}`,
      `${Math.round(data.tokensPerSecond ?? 0)} tokens/s`.padStart(14),
    ];
    const left = secondsLeft(data.step);
    if (left !== undefined) parts.push(`${formatDuration(left)} left`);
    return parts.join("  ");
  }

  function secondsLeft(step: number): number | undefined {
    first ??= { step, at: now() };
    if (step >= maxSteps) return 0;
    if (step <= first.step) return undefined;
    return ((now() - first.at) / 1000 / (step - first.step)) * (maxSteps - step);
  }

  return {
    line(event: JobEvent): string {
      switch (event.event) {
        case "training.started": {
          startedAt = now();
          const { model, parameters, rows } = event.data;
          maxSteps = event.data.maxSteps;
          return `training ${model}: ${count(parameters)} parameters, ${count(rows)} rows, ${count(maxSteps)} steps`;
        }
        case "training.log":
          return logLine(event.data);
        case "checkpoint.saved":
          return `checkpoint ${directory}/${event.data.path}`;
        case "training.completed": {
          const last = event.data.artifacts.at(-1);
          const where = last ? `: ${directory}/${last.path}` : "";
          return `completed in ${formatDuration((now() - startedAt) / 1000)}${where}`;
        }
        case "training.failed":
          return `failed: ${event.data.error}`;
        case "training.cancelled":
          return `cancelled at step ${event.data.step}`;
      }
    },
  };
}

function formatLoss(loss: number | null | undefined): string {
  return (typeof loss === "number" ? loss.toFixed(4) : "n/a").padEnd(7);
}

function formatDuration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < MINUTE_S) return `${whole}s`;
  const twoDigits = (value: number) => String(value).padStart(2, "0");
  const minutes = Math.floor(whole / MINUTE_S);
  if (whole < HOUR_S) return `${minutes}m ${twoDigits(whole % MINUTE_S)}s`;
  return `${Math.floor(whole / HOUR_S)}h ${twoDigits(minutes % MINUTE_S)}m`;
}

function count(value: number): string {
  return value.toLocaleString("en");
}
