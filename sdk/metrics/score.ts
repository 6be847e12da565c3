import { KitError, messageOf } from "../../protocol/error.ts";
import type { Answered, Metric, Metrics, ScoreAnswer } from "../../protocol/metric.ts";

/** What metrics say of answers. */
export interface Scores {
  /** The figures of all answers, by their names. */
  figures: Record<string, number>;
  /** Of each answer, by the names of the metrics that score one answer; null for one that has no score. */
  each: Record<string, number | null>[];
}

/**
 * Scores answers one after another, so that a metric that asks another service asks it once at a time.
 * @throws KitError `METRIC_FAILED` naming the metric and the row, when a metric throws or returns no number
 */
export async function scoreAnswers(
  metrics: Metrics,
  answers: readonly Answered[],
): Promise<Scores> {
  const figures: Record<string, number> = {};
  const each = answers.map((): Record<string, number | null> => ({}));
  for (const [name, metric] of Object.entries(metrics)) {
    if (!isOfOne(metric)) {
      for (const [suffix, figure] of Object.entries(metric.ofAll(answers))) {
        figures[name + suffix] = finite(figure, `${name}${suffix}`, answers.length);
      }
      continue;
    }
    const scores: number[] = [];
    for (const [i, answered] of answers.entries()) {
      const score = await scoreOf(name, metric, answered, i + 1);
      each[i]![name] = score;
      if (score !== null) scores.push(score);
    }
    const sum = scores.reduce((total, score) => total + score, 0);
    figures[name] = scores.length > 0 ? sum / scores.length : 0;
  }
  return { figures, each };
}

function isOfOne(metric: Metric): metric is ScoreAnswer {
  return typeof metric === "function";
}

async function scoreOf(
  name: string,
  metric: ScoreAnswer,
  answered: Answered,
  row: number,
): Promise<number | null> {
  let scored: unknown;
  try {
    scored = await metric(answered);
  } catch (cause) {
    throw failed(`The metric ${name} failed on row ${row}: ${messageOf(cause)}`, cause);
  }
  const value =
    typeof scored === "object" && scored !== null ? (scored as { score: unknown }).score : scored;
  if (value === null) return null;
  return finite(typeof value === "boolean" ? Number(value) : value, name, row);
}

function finite(value: unknown, name: string, row: number): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw failed(
    `The metric ${name} returned ${String(value)} for row ${row}, which is no finite number`,
  );
}

function failed(what: string, cause?: unknown): KitError {
  return new KitError("METRIC_FAILED", `${what}. Return a number, true or false.`, { cause });
}
