import { type Row, ROW_FORMAT } from "../dataset/row.ts";
import type { Example } from "../examples/examples.ts";
import type { Objective } from "./objective.ts";

/** Supervised fine-tuning: the mean negative log likelihood of learned tokens. */
export const sft: Objective<Row> = {
  format: ROW_FORMAT,
  sequencesOf: (row, tokenizer) => tokenizer.sequencesOf(row),
  unitsOf: learnedCount,
  weight: 1,
  computeLoss: (batch) => ({
    loss: -batch
      .flatMap(({ logProbs }) => logProbs)
      .reduce((sum, tokens) => tokens.reduce(add, sum), 0),
    weights: batch.map(({ logProbs }) =>
      logProbs.map((tokens) => new Float32Array(tokens.length).fill(1)),
    ),
    metrics: {},
  }),
};

function learnedCount({ sequences }: Example): number {
  return sequences.reduce((sum, { learned }) => learned.reduce(add, sum), 0);
}

function add(sum: number, value: number): number {
  return sum + value;
}
