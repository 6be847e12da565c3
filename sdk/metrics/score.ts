import { inspect } from "node:util";
import { KitError, messageOf } from "../../protocol/error.ts";
import type { Answered, Metric, Metrics, ScoreAnswer } from "../../protocol/metric.ts";
import { asError, withPlace } from "../runner/callerError.ts";

/** Characters of a question in an error. */
const SHOWN_LENGTH = 60;

/** What metrics say of answers. */
export interface Scores {
  /** The figures of all answers, by their names. */
  figures: Record<string, number>;
  /** Of each answer, by the names of the metrics that score one answer; undefined for one that has no score. */
  each: Record<string, number | undefined>[];
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
  const each = answers.map((): Record<string, number | undefined> => ({}));
  for (const [name, metric] of Object.entries(metrics)) {
    if (!isOfOne(metric)) {
      for (const [suffix, figure] of Object.entries(metric.ofAll(answers))) {
        figures[name + suffix] = finite(figure, `${name}${suffix}`, "all answers");
      }
      continue;
    }
    const scores: number[] = [];
    for (const [i, answered] of answers.entries()) {
      const score = await scoreOf(name, metric, answered, i + 1);
      each[i]![name] = score;
      if (score !== undefined) scores.push(score);
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
): Promise<number | undefined> {
  let scored: unknown;
  try {
    scored = await metric(answered);
  } catch (cause) {
    const error = asError(cause);
    throw new KitError(
      "METRIC_FAILED",
      `The metric ${name} failed on ${shown(answered, row)}: ${withPlace(messageOf(error), error)}`,
      { cause },
    );
  }
  const value =
    typeof scored === "object" && scored !== null ? (scored as { score: unknown }).score : scored;
  if (value === null) return undefined;
  return finite(typeof value === "boolean" ? Number(value) : value, name, shown(answered, row));
}

function finite(value: unknown, name: string, what: string): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new KitError(
    "METRIC_FAILED",
    `The metric ${name} returned ${inspect(value)} for ${what}. Make it return a number, true or false.`,
  );
}

/** A row as errors name it. */
function shown({ input }: Answered, row: number): string {
  const start = input.length > SHOWN_LENGTH ? `${input.slice(0, SHOWN_LENGTH)}…` : input;
  return `row ${row}, ${JSON.stringify(start)}`;
}
