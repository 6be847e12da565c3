import { expect, test } from "vitest";
import {
  type Batch,
  type SumAndCount,
  type ExampleLogProbs,
  addMeans,
} from "../../../engines/objectives/objective.ts";
import { objectiveOf } from "../../../engines/objectives/objectives.ts";

const [KTO, DPO] = [
  { type: "kto", beta: 0.1, desirableWeight: 1, undesirableWeight: 2 },
  { type: "dpo", beta: 0.1, labelSmoothing: 0.1, sftWeight: 0.5 },
] as const;

/** Answers of 1, 2, 3 … tokens, every third of them bad. */
const EXAMPLES: ExampleLogProbs[] = Array.from({ length: 5 }, (_, i) => {
  const tokens = Uint16Array.from({ length: i + 2 });
  const sequence = { tokens, learned: new Uint8Array(i + 2).fill(1, 1) };
  const logProbs = new Float32Array(i + 1).fill(-1 - i / 4);
  return {
    sequences: [sequence, sequence],
    logProbs: [logProbs, logProbs.map((one) => one / 2)],
    reference: [-2 - i, -3],
    ...(i % 3 === 0 && { isUndesirable: true as const }),
  };
});
const BATCH: Batch = { examples: EXAMPLES, klExamples: EXAMPLES.slice(0, 2) };

test.each([KTO, DPO])(
  "a batch that is scored in parts has the same figures: $type",
  (objective) => {
    const { computeLoss } = objectiveOf({ objective });
    const whole = computeLoss(EXAMPLES, BATCH);
    const parts = [EXAMPLES.slice(0, 1), EXAMPLES.slice(1, 4), EXAMPLES.slice(4)].map((some) =>
      computeLoss(some, BATCH),
    );
    expect(parts.reduce((sum, { loss }) => sum + loss, 0)).toBeCloseTo(whole.loss, 10);
    expect(parts.flatMap(({ weights }) => weights)).toEqual(whole.weights);
    const metrics: Record<string, SumAndCount> = {};
    for (const part of parts) addMeans(metrics, part.metrics);
    expect(Object.keys(metrics)).toEqual(Object.keys(whole.metrics));
    for (const [name, { sum, count }] of Object.entries(whole.metrics)) {
      expect(metrics[name]?.sum, name).toBeCloseTo(sum, 10);
      expect(metrics[name]?.count, name).toBeCloseTo(count, 10);
    }
  },
);

test.each([DPO, KTO])("the weights are the slopes of the loss: $type", (objective) => {
  const { computeLoss } = objectiveOf({ objective });
  const step = 2 ** -10;
  const { weights } = computeLoss(EXAMPLES, BATCH);
  const lossWith = (at: number, moved: number) => {
    const examples = EXAMPLES.map((one, i) => {
      const [first = new Float32Array(0), ...others] = one.logProbs;
      const changed = first.map((value, k) => (i === at && k === 0 ? value + moved : value));
      return { ...one, logProbs: [changed, ...others] };
    });
    return computeLoss(examples, BATCH).loss;
  };
  for (const at of EXAMPLES.keys()) {
    const slope = (lossWith(at, step) - lossWith(at, -step)) / (2 * step);
    expect(weights[at]?.[0]?.[0]).toBeCloseTo(-slope, 5);
  }
});
