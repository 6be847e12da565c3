import { formatCount, formatCounted } from "../../protocol/format.ts";
import { isEnded } from "../tokens/isEnded.ts";
import type { Span, Tokenizer } from "../tokens/tokenizer.ts";

/** Last tokens of an answer that are shown, a count. */
const SHOWN = 12;

/** Counts the rows that teach an answer without an end, after which a model goes on. */
export function watchUnendedAnswers(tokenizer: Tokenizer) {
  let rows = 0;
  let unended = 0;
  let first = "";
  return {
    /** @param sequences those that are learned whole */
    see(sequences: readonly (readonly Span[])[], where: string): void {
      rows++;
      const found = sequences
        .flatMap(lastsOfRuns)
        .find(({ tokens, isLearned }) => isLearned && !isEnded(tokens, tokenizer));
      if (!found || ++unended > 1) return;
      const last = tokenizer.show([...found.tokens.subarray(-SHOWN)]);
      first = `${where}, which ends with ${JSON.stringify(last)}`;
    },
    note(): string | undefined {
      if (unended === 0) return undefined;
      const [end] = tokenizer.ends;
      const advice =
        end === undefined
          ? "name the token that ends an answer as eos_token in the model's tokenizer_config.json"
          : `let the model's chat template write ${tokenizer.show([end])} after an assistant's message`;
      const of = `${formatCount(unended)} of ${formatCounted(rows, "row")}`;
      return `warning: no token that ends an answer is learned from ${of}, so the model may not stop\n  the first is ${first}\n  ${advice}`;
    },
  };
}

/** The last span of each run that is learned or not. */
function lastsOfRuns(spans: readonly Span[]): Span[] {
  return spans.filter(({ isLearned }, i) => spans[i + 1]?.isLearned !== isLearned);
}
