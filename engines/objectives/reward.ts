import type { SumAndCount, ExampleLogProbs } from "./objective.ts";

/** Log of the ratio of a sequence's probability to that under the reference model, in nats. */
export function logRatio({ logProbs, reference }: ExampleLogProbs, sequence: number): number {
  return sum(logProbs[sequence] ?? []) - (reference[sequence] ?? NaN);
}

export function sum(values: Iterable<number>): number {
  let all = 0;
  for (const value of values) all += value;
  return all;
}

export function sumAndCount(values: readonly number[]): SumAndCount {
  return { sum: sum(values), count: values.length };
}

export function sigmoid(value: number): number {
  return 1 / (1 + Math.exp(-value));
}

/** −log(sigmoid(value)), without overflow. */
export function negLogSigmoid(value: number): number {
  return Math.max(-value, 0) + Math.log1p(Math.exp(-Math.abs(value)));
}
