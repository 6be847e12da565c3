import { EVAL_LOSS } from "../../protocol/evaluation.ts";
import type { Artifact, Measured } from "../../protocol/event.ts";
import { RISE_ADVICE, risenFrom } from "../../protocol/lossEnds.ts";
import type { Progress } from "../../protocol/progress.ts";

/** How to format a result. */
export interface Formatters {
  path: (artifact: Artifact) => string;
  /** The command that runs the job's model. */
  inferCommand: string;
  /** Without padding. */
  formatLoss: (loss: Measured | undefined) => string;
  formatMetricValue: (value: number) => string;
  /** Name of the metric that compares checkpoints. */
  metric: string;
  /** Best value of that metric; `Progress` has the best `evalLoss`. */
  best: () => BestValue | undefined;
}

export interface BestValue {
  step: number;
  value: number;
}

/** The last loss, the best evaluation, and advice if the loss rose. */
export function lossSummary(progress: Progress, formatters: Formatters): string {
  const { loss, lossEnds } = progress;
  const last = loss === undefined ? [] : [`loss ${formatters.formatLoss(loss)}`];
  const best = bestOf(progress, formatters);
  const evaluation = best ? [`best ${formatters.metric} ${best.value} at step ${best.step}`] : [];
  const first = risenFrom(lossEnds);
  const risen =
    first === undefined
      ? ""
      : `, above the initial ${formatters.formatLoss(first)}: ${RISE_ADVICE}`;
  return [...last, ...evaluation].join(", ") + risen;
}

/** The best value of the metric that compares the job's checkpoints. */
function bestOf(
  { best }: Progress,
  { metric, formatLoss, formatMetricValue, best: bestOfMetric }: Formatters,
): { step: number; value: string } | undefined {
  if (metric === EVAL_LOSS) return best && { step: best.step, value: formatLoss(best.evalLoss) };
  const bestValue = bestOfMetric();
  return bestValue && { step: bestValue.step, value: formatMetricValue(bestValue.value) };
}

/** An artifact, and its metric as text if it was evaluated. */
export interface Result {
  artifact: Artifact;
  score?: string | undefined;
}

/** The result's path, its metric if it isn't the best, and how to try it. */
export function resultSummary(
  { artifact, score = "not evaluated" }: Result,
  progress: Progress,
  formatters: Formatters,
): string {
  const best = bestOf(progress, formatters);
  const comparison = !best || best.step === artifact.step ? "" : ` (${score})`;
  return `saved in ${formatters.path(artifact)}${comparison}; try it: ${formatters.inferCommand}`;
}
