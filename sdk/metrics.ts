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
  const wanted = parsed(expected);
  if (!wanted) return 0;
  const found = parsed(output)?.value;
  const scores = Object.values(fieldScores(wanted.value, found));
  if (scores.length === 0) return isEqual(found, wanted.value) ? 1 : 0;
  return sum(scores) / scores.length;
}

jsonFields.parts = ({ output, expected }: Pick<Answered, "output" | "expected">) =>
  fieldScores(parsed(expected)?.value, parsed(output)?.value);

/** Per expected field: 1 for the same value, else 0. Empty if the expected answer is not an object. */
function fieldScores(wanted: unknown, found: unknown): Record<string, number> {
  if (!isRecord(wanted)) return {};
  const record = isRecord(found) ? found : {};
  const scores = Object.keys(wanted).map((key) => {
    const isSame = Object.hasOwn(record, key) && isEqual(record[key], wanted[key]);
    return [key, isSame ? 1 : 0] as const;
  });
  return Object.fromEntries(scores);
}

/** Compares numbers exactly, however they are written: `1.0` equals 1. */
function isEqual(found: unknown, wanted: unknown): boolean {
  const [one, other] = [plainNumber(found), plainNumber(wanted)];
  // JavaScript compares a bigint with a number exactly, but for `===`.
  if (isNumber(one) && isNumber(other)) return !(one < other) && !(one > other);
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((each, i) => isEqual(each, other[i]));
  }
  if (!isRecord(one) || !isRecord(other)) return one === other;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isEqual(one[key], other[key]))
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
    const right = pairs.filter(([output, expected]) => output === expected);
    const predicted = countOf(pairs.map(([output]) => output));
    const actual = countOf(pairs.map(([, expected]) => expected));
    const both = countOf(right.map(([output]) => output));
    const f1 = [...actual].map(
      ([kind, count]) => (2 * (both.get(kind) ?? 0)) / ((predicted.get(kind) ?? 0) + count),
    );
    return { "": share(right.length, pairs.length), MacroF1: share(sum(f1), actual.size) };
  },
};

function countOf(kinds: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

function share(part: number, all: number): number {
  return all > 0 ? part / all : 0;
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
