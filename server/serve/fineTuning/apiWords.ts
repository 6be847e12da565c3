import { withDigits } from "../../../protocol/format.ts";
import { type MethodType, defaultRate } from "./hyperparameters.ts";

/** An error of a training, with its advice in terms of OpenAI's API. */
export function inApiWords(error: string, type: MethodType): string {
  const asMultiplier = (rate: string) => withDigits(Number(rate) / defaultRate(type), 2);
  return error
    .replaceAll(
      /learningRate of (\d[\d.e+-]*\d|\d)/g,
      (_, rate: string) => `learning_rate_multiplier of ${asMultiplier(rate)}`,
    )
    .replace(", or more warmupSteps", "")
    .replace('set objective to { type: "dpo" }', 'set method to { type: "dpo" }')
    .replace("; for other names, set columns or map", "")
    .replace(" or raise maxLength", "");
}
