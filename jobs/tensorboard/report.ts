import { readdirSync } from "node:fs";
import { join } from "node:path";
import { makeDirectory } from "../../disk/file.ts";
import { remove } from "../../disk/move.ts";
import { isHeldOut, withoutEval } from "../../protocol/evaluation.ts";
import { type Measured, EVALUATED } from "../../protocol/event.ts";
import type { PastMetricEvent } from "../metricEvents.ts";
import { type EventFile, openEventFile } from "./eventFile.ts";

/** Files that `openReport` has written. */
const FILE = /^events\.out\.tfevents\.\d+\.\d+\.kit$/;

/** A run as TensorBoard shows it: curves, and the job's options. */
export interface Report {
  add: (event: PastMetricEvent) => void;
  /** Idempotent. */
  close: () => void;
}

/**
 * Opens a run's folder, and removes the event files of an earlier report.
 * @param config the job's options
 * @throws the errors of `openSync`; `add` throws those of `writeSync`
 */
export function openReport(directory: string, config: Readonly<Record<string, unknown>>): Report {
  makeDirectory(directory);
  for (const name of readdirSync(directory)) if (FILE.test(name)) remove(join(directory, name));
  const time = Date.now();
  // TensorBoard reads a folder's files in the order of their names.
  const name = `events.out.tfevents.${Math.floor(time / 1000)}.${process.pid}.kit`;
  const file = openEventFile(join(directory, name));
  // The tag of transformers' TensorBoardCallback.
  file.markdown({ time, step: 0 }, "args/text_summary", asCode(config));
  const evaluatedSteps = new Set<number>();
  return {
    add(metricEvent) {
      const { event, data } = metricEvent;
      // A continuing job records evaluations that it inherits again.
      if (event === EVALUATED && evaluatedSteps.has(data.step)) return;
      if (event === EVALUATED) evaluatedSteps.add(data.step);
      addTo(file, metricEvent);
    },
    close: file.close,
  };
}

function addTo(file: EventFile, { event, data, at }: PastMetricEvent): void {
  const values = event === EVALUATED ? evaluated(data.metrics) : tagged(data);
  const known = Object.entries(values).filter(([, value]) => value !== undefined);
  if (known.length === 0) return;
  const scalars = Object.fromEntries(known.map(([tag, value]) => [tag, value ?? NaN]));
  file.scalars({ time: at, step: data.step }, scalars);
}

/** Tagged by the option, since a metric may have any name. */
function evaluated(metrics: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(metrics).map(([name, value]) => [`evaluate/${name}`, value]),
  );
}

type Logged = (PastMetricEvent & { event: "training.log" })["data"];

/** The tags of transformers' TensorBoardCallback, where it has the value. */
function tagged({ metrics = {}, ...logged }: Logged): Record<string, Measured | undefined> {
  const names = Object.keys(metrics);
  return {
    "train/loss": logged.loss,
    "train/learning_rate": logged.learningRate,
    "train/grad_norm": logged.gradNorm,
    "train/epoch": logged.epoch,
    "train/tokens_per_second": logged.tokensPerSecond,
    "eval/loss": logged.evalLoss,
    ...Object.fromEntries(names.map((name) => [tagOf(name), metrics[name]])),
  };
}

/** The tag of an objective's metric. */
function tagOf(name: string): string {
  return isHeldOut(name) ? `eval/${withoutEval(name)}` : `train/${name}`;
}

/** JSON as a code block of Markdown. */
function asCode(config: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(config, undefined, 2).replace(/^/gm, "    ");
}
