import { withDigits } from "../../../protocol/format.ts";
import { type MethodType, defaultRate } from "./hyperparameters.ts";

/** Advice on options of `createTrainer`, and the same in terms of OpenAI's API, which has fewer. */
export const API_ADVICE: Record<string, string> = {
  ", or more warmupSteps": "",
  'set objective to { type: "dpo" }': 'set method to { type: "dpo" }',
  'set objective to { type: "kto" } to learn from labelled answers, or remove it':
    "the API learns from no labels; remove it, or send pairs of answers",
  'is for the objective "kto", not "dpo"': "is not for pairs of answers; remove it",
  'the objective "dpo" needs two': 'the method "dpo" needs two',
  "set map": "write it in a message",
  ': name it .csv and leave out its type, or set the type to "csv"': "",
  '"chosen" and "rejected" are the same answer': "both answers are the same",
  "; for other names, set columns or map": "",
  "need a map that returns": "must be",
  " or raise maxLength": "",
  "Use a smaller batchSize, maxLength or model.":
    "Use a smaller batch_size, shorter rows or a smaller model.",
  "Lower maxLength or the model's size, or use engine: python()":
    "Use shorter rows or a smaller model",
  " Use engine: python(), or another model.": " Use another model.",
  "Use engine: python(), which renders templates as transformers does, or change the template.":
    "Use another model, or change the template.",
};

/** An error of a training run, with its advice in terms of OpenAI's API. */
export function inApiWords(error: string, type: MethodType): string {
  const asMultiplier = (rate: string) => withDigits(Number(rate) / defaultRate(type), 2);
  const translated = Object.entries(API_ADVICE).reduce(
    (text, [kitAdvice, apiAdvice]) => text.replace(kitAdvice, apiAdvice),
    error,
  );
  return translated.replaceAll(
    /learningRate of (\d[\d.e+-]*\d|\d)/g,
    (_, rate: string) => `learning_rate_multiplier of ${asMultiplier(rate)}`,
  );
}
