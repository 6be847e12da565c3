import type { Segment } from "../../protocol/trainingCheck.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import type { Sequence } from "./examples.ts";

/**
 * A sequence's text with its special tokens, in segments that are learned or not.
 * @param isPenalized whether training makes them less likely
 */
export function segmentsOf(
  { tokens, learned }: Sequence,
  tokenizer: Tokenizer,
  isPenalized = false,
): Segment[] {
  const segments: Segment[] = [];
  for (let start = 0, end = 0; start < tokens.length; start = end) {
    const kind = kindAt(start);
    end = start + 1;
    while (!kind.isSpecial && end < tokens.length && isSame(kind, kindAt(end))) end++;
    segments.push({ text: tokenizer.show([...tokens.subarray(start, end)]), ...kind });
  }
  return segments;

  function kindAt(index: number): Omit<Segment, "text"> {
    const isSpecial = tokenizer.isSpecial(tokens[index] ?? 0);
    const isLearned = learned[index] === 1;
    return { isLearned, isSpecial, ...(isPenalized && isLearned && { isAvoided: true }) };
  }
}

function isSame(one: Omit<Segment, "text">, other: Omit<Segment, "text">): boolean {
  return one.isLearned === other.isLearned && one.isSpecial === other.isSpecial;
}
