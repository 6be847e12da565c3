import { isRecord } from "../protocol/isRecord.ts";
import { WholeFloat, parseJson } from "../protocol/json.ts";
import type { Answered, AggregateMetric } from "../protocol/metric.ts";

/**
 * 1 for an answer equal to the row's own, ignoring surrounding spaces; else 0.
 * @example evaluate: { metrics: { accuracy: exactMatch } }
 */
export function exactMatch({ output, expected }: Pick<Answered, "output" | "expected">): number {
  return output.trim() === expected.trim() ? 1 : 0;
}

/**
 * 1 for an answer that is JSON, else 0.
 * @example evaluate: { metrics: { json: validJson } }
 */
export function validJson({ output }: Pick<Answered, "output">): number {
  return parsed(output) === undefined ? 0 : 1;
}

/**
 * The share of the expected JSON object's fields that have the same value in the answer; for other JSON,
 * 1 if equal. 0 if the answer or the row's own is not JSON.
 * @example evaluate: { metrics: { fields: jsonFields } }
 */
export function jsonFields({ output, expected }: Pick<Answered, "output" | "expected">): number {
  const row = parsed(expected);
  if (!row) return 0;
  const answer = parsed(output)?.value;
  const scores = Object.values(fieldScores(row.value, answer));
  if (scores.length === 0) return isEqual(answer, row.value) ? 1 : 0;
  return sum(scores) / scores.length;
}

jsonFields.parts = ({ output, expected }: Pick<Answered, "output" | "expected">) =>
  fieldScores(parsed(expected)?.value, parsed(output)?.value);

/** Per expected field: 1 for the same value, else 0. Empty if the expected answer is not an object. */
function fieldScores(expected: unknown, answer: unknown): Record<string, number> {
  if (!isRecord(expected)) return {};
  const fields = isRecord(answer) ? answer : {};
  const scores = Object.keys(expected).map((key) => {
    const isSame = Object.hasOwn(fields, key) && isEqual(fields[key], expected[key]);
    return [key, isSame ? 1 : 0] as const;
  });
  return Object.fromEntries(scores);
}

/** Compares numbers exactly, however they are written: `1.0` equals 1. */
function isEqual(first: unknown, second: unknown): boolean {
  const [a, b] = [plainNumber(first), plainNumber(second)];
  // JavaScript compares a bigint with a number exactly by < and >, but not by ===.
  if (isNumber(a) && isNumber(b)) return !(a < b) && !(a > b);
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, i) => isEqual(item, b[i]));
  }
  if (!isRecord(a) || !isRecord(b)) return a === b;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key]))
  );
}

function plainNumber(value: unknown): unknown {
  return value instanceof WholeFloat ? Number(value) : value;
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

/**
 * For classification: accuracy under the metric's own name, and `…MacroF1`, the mean F1 of the labels in
 * the rows.
 * @example evaluate: { metrics: { label: labels } }
 */
export const labels: AggregateMetric = {
  compute(answers) {
    const pairs = answers.map(({ output, expected }) => [output.trim(), expected.trim()] as const);
    const correct = pairs.filter(([output, expected]) => output === expected);
    const predicted = countOf(pairs.map(([output]) => output));
    const actual = countOf(pairs.map(([, expected]) => expected));
    const truePositives = countOf(correct.map(([output]) => output));
    const f1 = [...actual].map(
      ([label, count]) =>
        (2 * (truePositives.get(label) ?? 0)) / ((predicted.get(label) ?? 0) + count),
    );
    return { "": ratio(correct.length, pairs.length), MacroF1: ratio(sum(f1), actual.size) };
  },
};

function countOf(values: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

function ratio(part: number, total: number): number {
  return total > 0 ? part / total : 0;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function parsed(text: string): { value: unknown } | undefined {
  try {
    return { value: parseJson(text) };
  } catch {
    return undefined;
  }
}
