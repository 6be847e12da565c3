import type { RowForm } from "../../../engines/dataset/rowForm.ts";
import type { Objective, ScoredExample } from "../../../engines/objectives/objective.ts";

interface Pair {
  prompt: string;
  chosen: string;
  rejected: string;
}

const FORM: RowForm<Pair> = {
  expected: '{"prompt":"…","chosen":"…","rejected":"…"}',
  parse: (text) => JSON.parse(text) as Pair,
  isEmpty: () => false,
  isText: () => false,
};

const BETA = 0.1;

/** Preference pairs by DPO's definition (Rafailov et al. 2023, equation 7). */
export const pairs: Objective<Pair> = {
  form: FORM,
  sequencesOf: ({ prompt, chosen, rejected }, tokenizer) =>
    [chosen, rejected].map((completion) => tokenizer.sequencesOf({ prompt, completion })[0] ?? []),
  needsAll: true,
  unitsOf: () => 1,
  needsReference: true,
  metrics: { rewardsMargins: "higher", rewardsAccuracies: "higher" },
  score(batch) {
    const margins = batch.map((pair) => rewardOf(pair, 0) - rewardOf(pair, 1));
    const count = batch.length;
    return {
      loss: sum(margins.map((margin) => Math.log1p(Math.exp(-margin)))),
      weights: batch.map(({ logProbs }, i) => {
        const weight = BETA / (1 + Math.exp(margins[i] ?? NaN));
        return logProbs.map((of, k) => of.map(() => (k === 0 ? weight : -weight)));
      }),
      metrics: {
        rewardsMargins: { sum: sum(margins), count },
        rewardsAccuracies: { sum: margins.filter((margin) => margin > 0).length, count },
      },
    };
  },
};

function rewardOf({ logProbs, reference }: ScoredExample, k: number): number {
  return BETA * (sum([...(logProbs[k] ?? [])]) - sum([...(reference[k] ?? [])]));
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}
