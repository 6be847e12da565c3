import type { DpoObjective } from "../../protocol/objective.ts";
import { type Pair, PAIR_FORMAT } from "../dataset/pair.ts";
import type { Example } from "../examples/examples.ts";
import { answerSequence } from "./answerSequence.ts";
import type { Objective } from "./objective.ts";
import { logRatio, sumAndCount, sigmoid, negLogSigmoid, sum } from "./reward.ts";

const [CHOSEN, REJECTED] = [0, 1];

/**
 * Direct preference optimization: Rafailov et al. 2023, equation 7; with label smoothing, Chowdhury et al. 2024,
 * equation 12. The loss is the mean over pairs.
 */
export function dpo({ beta, labelSmoothing, sftWeight }: DpoObjective): Objective<Pair> {
  /** The negative slope of the loss at a margin. */
  const negativeSlopeAt = (margin: number) =>
    ((1 - labelSmoothing) * sigmoid(-margin) + labelSmoothing * sigmoid(margin)) /
    (1 - 2 * labelSmoothing);
  const lossAt = (margin: number) =>
    ((1 - labelSmoothing) * negLogSigmoid(margin) - labelSmoothing * negLogSigmoid(-margin)) /
    (1 - 2 * labelSmoothing);

  return {
    format: PAIR_FORMAT,
    sequencesOf: ({ chosen, rejected, ...prompt }, tokenizer) =>
      [chosen, rejected].map((answer) => answerSequence({ ...prompt, answer }, tokenizer)),
    needsAll: true,
    isPenalized: (_, sequence) => sequence === REJECTED,
    unitsOf: () => 1,
    needsReference: true,
    computeLoss(pairs, batch) {
      const chosen = pairs.map((pair) => beta * logRatio(pair, CHOSEN));
      const rejected = pairs.map((pair) => beta * logRatio(pair, REJECTED));
      const margins = chosen.map((reward, i) => reward - (rejected[i] ?? NaN));
      // Scaled so that the mean over pairs becomes the mean over the chosen answers' tokens.
      const tokenWeight =
        (sftWeight * batch.examples.length) / sum(batch.examples.map(chosenCount));
      const sftLoss = -sum(pairs.map(({ logProbs }) => sum(logProbs[CHOSEN] ?? [])));
      return {
        loss: sum(margins.map(lossAt)) + (sftWeight > 0 ? tokenWeight * sftLoss : 0),
        weights: pairs.map(({ logProbs }, i) => {
          const weight = beta * negativeSlopeAt(margins[i] ?? NaN);
          return logProbs.map((tokens, sequence) =>
            new Float32Array(tokens.length).fill(
              sequence === CHOSEN ? weight + tokenWeight : -weight,
            ),
          );
        }),
        metrics: {
          rewardsChosen: sumAndCount(chosen),
          rewardsRejected: sumAndCount(rejected),
          rewardsMargins: sumAndCount(margins),
          rewardsAccuracies: sumAndCount(margins.map((margin) => (margin > 0 ? 1 : 0))),
        },
      };
    },
  };
}

function chosenCount({ sequences }: Example): number {
  return sum(sequences[CHOSEN]?.learned ?? []);
}
