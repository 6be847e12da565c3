import type { Example, Sequence } from "../examples/examples.ts";
import type { Mismatches } from "./objective.ts";

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
