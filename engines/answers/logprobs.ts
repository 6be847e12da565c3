import type { InferResult, TokenLogprob } from "../../protocol/infer.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import type { NextToken } from "./reader.ts";

export type LogprobEntry = NonNullable<InferResult["logprobs"]>[number];

/** Copies the logits, which sampling overwrites. @param count number of top tokens */
export function copyLogprobs(
  { logits, logSumExp }: Pick<NextToken, "logits" | "logSumExp">,
  count: number,
  { bytesOf }: Pick<Tokenizer, "bytesOf">,
): (token: number) => LogprobEntry {
  const total = logSumExp();
  const copied = logits.slice();
  const logprobOf = (token: number): TokenLogprob => {
    const bytes = bytesOf(token);
    return {
      token: new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes),
      bytes: [...bytes],
      logprob: Math.min(0, copied[token]! - total),
    };
  };
  const top = topTokens(copied, count).map(logprobOf);
  return (token) => ({ ...logprobOf(token), top });
}

/** The tokens with the highest logits, in descending order; ties by id. */
function topTokens(logits: Float32Array, count: number): number[] {
  const found: number[] = [];
  let lowest = -Infinity;
  for (let token = 0; token < logits.length; token++) {
    const logit = logits[token]!;
    if (count === 0 || (found.length === count && logit <= lowest)) continue;
    if (found.length === count) found.pop();
    const position = found.findIndex((other) => logits[other]! < logit);
    found.splice(position === -1 ? found.length : position, 0, token);
    lowest = logits[found.at(-1)!]!;
  }
  return found;
}
