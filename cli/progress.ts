import type { EventData, JobEvent } from "../protocol/event.ts";

const MINUTE_S = 60;

/** Turns a job's events into the lines that `kit start` prints. Pure but for the clock it is given. */
export function createProgress(options: { directory: string; now?: () => number }) {
  const { directory, now = () => performance.now() } = options;
  const createdAt = now();
  let startedAt = createdAt;
  let maxSteps = 0;

  function logLine(data: EventData["training.log"]): string {
    const elapsed = (now() - startedAt) / 1000;
    const left = data.step > 0 ? (elapsed / data.step) * (maxSteps - data.step) : 0;
    const width = String(maxSteps).length;
    return [
      `step ${String(data.step).padStart(width)}/${maxSteps}`,
      `loss ${formatLoss(data.loss)}`,
      `${Math.round(data.tokensPerSecond ?? 0)} tokens/s`.padStart(14),
      `${formatDuration(left)} left`,
    ].join("  ");
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
          return `completed in ${formatDuration((now() - createdAt) / 1000)}${where}`;
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
  return `${Math.floor(whole / MINUTE_S)}m ${String(whole % MINUTE_S).padStart(2, "0")}s`;
}

function count(value: number): string {
  return value.toLocaleString("en");
}
