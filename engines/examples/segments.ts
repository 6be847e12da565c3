import type { Segment } from "../../protocol/trainingCheck.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import type { Sequence } from "./examples.ts";

/**
 * A sequence's text, with special tokens, as segments that are either learned or not.
 * @param isPenalized whether training makes the learned segments less likely
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
    while (!kind.isSpecial && end < tokens.length && isSameKind(kind, kindAt(end))) end++;
    segments.push({ text: tokenizer.show([...tokens.subarray(start, end)]), ...kind });
  }
  return segments;

  function kindAt(index: number): Omit<Segment, "text"> {
    const isSpecial = tokenizer.isSpecial(tokens[index] ?? 0);
    const isLearned = learned[index] === 1;
    return { isLearned, isSpecial, ...(isPenalized && isLearned && { isAvoided: true }) };
  }
}

function isSameKind(a: Omit<Segment, "text">, b: Omit<Segment, "text">): boolean {
  return a.isLearned === b.isLearned && a.isSpecial === b.isSpecial;
}
