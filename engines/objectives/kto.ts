import type { KtoObjective } from "../../protocol/objective.ts";
import { type LabelledAnswer, LABELLED_FORMAT } from "../dataset/labelledAnswer.ts";
import type { Example, Sequence } from "../examples/examples.ts";
import { answerSequence } from "./answerSequence.ts";
import type { Batch, SumAndCount, KlExamples, Objective } from "./objective.ts";
import { logRatio, sigmoid, sum } from "./reward.ts";

/**
 * Kahneman-Tversky optimization (KTO), for labelled answers: Ethayarajh et al. 2024, equation 8. The loss is the mean
 * over answers; each answer's log ratio is compared with the KL divergence estimated from the batch's KL examples.
 */
export function kto({
  beta,
  desirableWeight,
  undesirableWeight,
}: KtoObjective): Objective<LabelledAnswer> {
  return {
    format: LABELLED_FORMAT,
    sequencesOf: ({ completion, label: _, ...prompt }, tokenizer) => [
      answerSequence({ ...prompt, answer: completion }, tokenizer),
    ],
    isUndesirable: ({ label }) => !label,
    isPenalized: ({ isUndesirable }) => isUndesirable === true,
    unitsOf: () => 1,
    needsReference: true,
    klExamples,
    computeLoss(answers, batch) {
      const kl = divergenceOf(batch);
      const scored = answers.map((answer) => {
        const ratio = logRatio(answer, 0);
        const [sign, weight] = answer.isUndesirable
          ? [-1, undesirableWeight]
          : [1, desirableWeight];
        const value = sigmoid(beta * sign * (ratio - kl));
        return {
          loss: weight * (1 - value),
          slope: sign * beta * weight * value * (1 - value),
          rated: { isUndesirable: answer.isUndesirable === true, reward: beta * ratio },
        };
      });
      return {
        loss: sum(scored.map(({ loss }) => loss)),
        weights: answers.map(({ logProbs }, i) =>
          logProbs.map((tokens) => new Float32Array(tokens.length).fill(scored[i]?.slope ?? NaN)),
        ),
        metrics: metricsOf(
          scored.map(({ rated }) => rated),
          batch,
          kl,
        ),
      };
    },
  };
}

interface RatedAnswer {
  isUndesirable: boolean;
  reward: number;
}

/** Estimated KL divergence from the reference model, in nats. */
function divergenceOf({ klExamples: mismatched }: Batch): number {
  return Math.max(0, sum(mismatched.map((example) => logRatio(example, 0))) / mismatched.length);
}

/**
 * Reward metrics as in TRL: for desirable and for undesirable answers, the mean of each batch, averaged over the
 * batches that have any.
 */
function metricsOf(
  answers: readonly RatedAnswer[],
  { examples }: Batch,
  kl: number,
): Record<string, SumAndCount> {
  const share = answers.length / examples.length;
  const undesirable = examples.filter(({ isUndesirable }) => isUndesirable).length;
  const batchMean = (count: number, group: readonly RatedAnswer[]): SumAndCount =>
    count === 0
      ? NO_MEAN
      : { sum: sum(group.map(({ reward }) => reward)) / count, count: group.length / count };
  const desirable = examples.length - undesirable;
  const chosen = batchMean(
    desirable,
    answers.filter(({ isUndesirable }) => !isUndesirable),
  );
  const rejected = batchMean(
    undesirable,
    answers.filter(({ isUndesirable }) => isUndesirable),
  );
  return {
    rewardsChosen: chosen,
    rewardsRejected: rejected,
    rewardsMargins:
      desirable > 0 && undesirable > 0 ? { sum: chosen.sum - rejected.sum, count: share } : NO_MEAN,
    kl: { sum: kl * share, count: share },
  };
}

const NO_MEAN: SumAndCount = { sum: 0, count: 0 };

/** Each prompt of a batch with the answer to the previous prompt. */
export const klExamples: KlExamples = {
  build: (batch, maxLength) =>
    batch.map((example, i) => mismatchedExample(example, batch.at(i - 1) ?? example, maxLength)),
  maxTokensOf(examples) {
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

function mismatchedExample(example: Example, other: Example, maxLength: number): Example {
  const [question, answer] = [example.sequences[0], other.sequences[0]];
  if (!question || !answer) return { ...example, sequences: [] };
  const [promptEnd, start] = [answerStart(question), answerStart(answer)];
  const length = Math.min(maxLength, promptEnd + answer.tokens.length - start);
  const tokens = new Uint32Array(length);
  const learned = new Uint8Array(length);
  tokens.set(question.tokens.subarray(0, promptEnd));
  tokens.set(answer.tokens.subarray(start, start + length - promptEnd), promptEnd);
  learned.set(answer.learned.subarray(start, start + length - promptEnd), promptEnd);
  return { ...example, sequences: [{ tokens, learned }] };
}

function answerStart({ learned }: Sequence): number {
  return learned.indexOf(1);
}
