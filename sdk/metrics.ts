import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../protocol/isRecord.ts";
import type { Answered, SetMetric } from "../protocol/metric.ts";

/**
 * 1 for an answer that is the row's own, spaces around it aside; else 0.
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
 * The share of the expected JSON object's fields that the answer has with the same value; 0 for an
 * answer that is not JSON. Of other JSON values 1 if they are equal.
 * @example evaluate: { metrics: { fields: jsonFields } }
 */
export function jsonFields({ output, expected }: Pick<Answered, "output" | "expected">): number {
  const wanted = parsed(expected)?.value;
  const found = parsed(output)?.value;
  const keys = isRecord(wanted) ? Object.keys(wanted) : [];
  if (!isRecord(wanted) || keys.length === 0) return isDeepStrictEqual(found, wanted) ? 1 : 0;
  if (!isRecord(found)) return 0;
  const equal = keys.filter((key) => isDeepStrictEqual(found[key], wanted[key]));
  return equal.length / keys.length;
}

/**
 * For answers of few kinds: the share of right ones under the metric's own name, and as `…MacroF1` the
 * mean of the F1 of each label that the rows have.
 * @example evaluate: { metrics: { label: labels } }
 */
export const labels: SetMetric = {
  ofAll(answers) {
    const pairs = answers.map(({ output, expected }) => [output.trim(), expected.trim()] as const);
    const kinds = [...new Set(pairs.map(([, expected]) => expected))];
    const right = pairs.filter(([output, expected]) => output === expected).length;
    const f1 = kinds.map((kind) => {
      const [told, there] = [0, 1].map((at) => pairs.filter((pair) => pair[at] === kind).length);
      const both = pairs.filter(
        ([output, expected]) => output === kind && expected === kind,
      ).length;
      return (2 * both) / (told! + there!);
    });
    return { "": share(right, pairs.length), MacroF1: share(sum(f1), kinds.length) };
  },
};

function share(part: number, all: number): number {
  return all > 0 ? part / all : 0;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function parsed(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
