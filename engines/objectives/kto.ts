import type { KtoObjective } from "../../protocol/objective.ts";
import { type LabelledAnswer, LABELLED_FORMAT } from "../dataset/labelledAnswer.ts";
import type { Example, Sequence } from "../examples/examples.ts";
import { answerSequence } from "./answerSequence.ts";
import type { Batch, Mean, Mismatches, Objective } from "./objective.ts";
import { logRatio, sigmoid, sum } from "./reward.ts";

/**
 * Single answers that were judged: Ethayarajh et al. 2024, equation 8. The mean over answers, each
 * compared with how far the batch's mismatches have moved from the reference.
 */
export function kto({
  beta,
  desirableWeight,
  undesirableWeight,
}: KtoObjective): Objective<LabelledAnswer> {
  return {
    form: LABELLED_FORMAT,
    sequencesOf: ({ completion, label: _, ...asked }, tokenizer) => [
      answerSequence({ ...asked, answer: completion }, tokenizer),
    ],
    isBad: ({ label }) => !label,
    isAvoided: ({ isBad }) => isBad === true,
    unitsOf: () => 1,
    needsReference: true,
    mismatches,
    score(answers, batch) {
      const kl = divergenceOf(batch);
      const judged = answers.map((answer) => {
        const ratio = logRatio(answer, 0);
        const [sign, weight] = answer.isBad ? [-1, undesirableWeight] : [1, desirableWeight];
        const value = sigmoid(beta * sign * (ratio - kl));
        return {
          loss: weight * (1 - value),
          slope: sign * beta * weight * value * (1 - value),
          rated: { isBad: answer.isBad === true, reward: beta * ratio },
        };
      });
      return {
        loss: sum(judged.map(({ loss }) => loss)),
        weights: answers.map(({ logProbs }, i) =>
          logProbs.map((of) => new Float32Array(of.length).fill(judged[i]?.slope ?? NaN)),
        ),
        metrics: metricsOf(
          judged.map(({ rated }) => rated),
          batch,
          kl,
        ),
      };
    },
  };
}

interface Rated {
  isBad: boolean;
  reward: number;
}

/** An estimate of the KL divergence from the reference, in nats. */
function divergenceOf({ mismatches: mismatched }: Batch): number {
  return Math.max(0, sum(mismatched.map((one) => logRatio(one, 0))) / mismatched.length);
}

/** As TRL: a mean over the batches that have such answers, in each over these answers. */
function metricsOf(
  answers: readonly Rated[],
  { examples }: Batch,
  kl: number,
): Record<string, Mean> {
  const share = answers.length / examples.length;
  const bad = examples.filter(({ isBad }) => isBad).length;
  const meanOf = (count: number, some: readonly Rated[]): Mean =>
    count === 0
      ? NOTHING
      : { sum: sum(some.map(({ reward }) => reward)) / count, count: some.length / count };
  const good = examples.length - bad;
  const chosen = meanOf(
    good,
    answers.filter(({ isBad }) => !isBad),
  );
  const rejected = meanOf(
    bad,
    answers.filter(({ isBad }) => isBad),
  );
  return {
    rewardsChosen: chosen,
    rewardsRejected: rejected,
    rewardsMargins:
      good > 0 && bad > 0 ? { sum: chosen.sum - rejected.sum, count: share } : NOTHING,
    kl: { sum: kl * share, count: share },
  };
}

const NOTHING: Mean = { sum: 0, count: 0 };

/** Each question of a batch with the answer to the one before it. */
export const mismatches: Mismatches = {
  of: (batch, most) =>
    batch.map((example, i) => mismatch(example, batch.at(i - 1) ?? example, most)),
  longestOf(examples) {
    let [question, answer] = [0, 0];
    for (let index = 0; index < examples.length; index++) {
      const [sequence] = examples.at(index).sequences;
      if (!sequence) continue;
      const start = answerStart(sequence);
      question = Math.max(question, start);
      answer = Math.max(answer, sequence.tokens.length - start);
    }
    return question + answer;
  },
};

function mismatch(asked: Example, answered: Example, most: number): Example {
  const [question, answer] = [asked.sequences[0], answered.sequences[0]];
  if (!question || !answer) return { ...asked, sequences: [] };
  const [end, start] = [answerStart(question), answerStart(answer)];
  const length = Math.min(most, end + answer.tokens.length - start);
  const tokens = new Uint32Array(length);
  const learned = new Uint8Array(length);
  tokens.set(question.tokens.subarray(0, end));
  tokens.set(answer.tokens.subarray(start, start + length - end), end);
  learned.set(answer.learned.subarray(start, start + length - end), end);
  return { ...asked, sequences: [{ tokens, learned }] };
}

function answerStart({ learned }: Sequence): number {
  return learned.indexOf(1);
}
