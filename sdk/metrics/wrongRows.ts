import type { Answered } from "../../protocol/metric.ts";
import { exactMatch } from "../metrics.ts";
import type { Scores } from "./score.ts";

export interface WrongRow extends Pick<Answered, "row"> {
  input: string;
  expected: string;
  answer: string;
}

/**
 * Rows whose answers differ from the expected ones and score below 1 by some metric, lowest score first.
 * @param metrics per-answer metrics where higher is better; one with scores outside 0 to 1 has no known
 * maximum and is ignored. Undefined with aggregate metrics only: every answer that differs is wrong
 */
export function wrongRows(
  answers: readonly Answered[],
  { perAnswer }: Scores,
  metrics: readonly string[] | undefined,
): WrongRow[] {
  const boundedMetrics = metrics?.filter((name) =>
    perAnswer.every(({ [name]: score = 0 }) => score >= 0 && score <= 1),
  );
  const scored = answers.map((answered, i) => {
    const scores = boundedMetrics?.map((name) => perAnswer[i]?.[name] ?? 1) ?? [0];
    return { answered, lowest: exactMatch(answered) ? 1 : Math.min(1, ...scores) };
  });
  return scored
    .filter(({ lowest }) => lowest < 1)
    .toSorted((a, b) => a.lowest - b.lowest)
    .map(({ answered: { output, ...rest } }) => ({ ...rest, answer: output }));
}
