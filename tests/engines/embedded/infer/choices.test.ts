import { expect, test } from "vitest";
import { answerTokens, createAnswers } from "../../../../engines/answers/answers.ts";
import type * as decoding from "../../../../engines/embedded/infer/decoder.ts";
import type * as scheduling from "../../../../engines/embedded/infer/scheduler.ts";
import type * as modules from "../../../../engines/embedded/kernels/module.ts";
import { dimensionsOf } from "../../../../engines/families/dimensions.ts";
import { inMemoryTensors } from "../../../../engines/modelFiles/tensors.ts";
import { BYTE_TOKENIZER } from "../../../../engines/tokens/byteTokenizer.ts";
import { SPECIALS } from "../../../../engines/tokens/byteTokens.ts";
import { builtModule } from "../built.ts";
import { logitsOf } from "../learner.ts";
import { tinyWeights } from "../tiny.ts";

const { createDecoder } = await builtModule<typeof decoding>("infer/decoder.js");
const { createScheduler } = await builtModule<typeof scheduling>("infer/scheduler.js");
const { compileKernels } = await builtModule<typeof modules>("kernels/module.js");

const SHAPE = dimensionsOf({ layers: 2, heads: 2, width: 16, context: 128 });
const NEVER = { isCancelled: () => false };
const PROMPT = { prompt: "a question of some length" };
const weights = tinyWeights(3, SHAPE);

/** A random model, and how often a step of its decoder was asked for each number of logits. */
function answersOf(pages?: number) {
  const options = { allowed: () => answerTokens(BYTE_TOKENIZER), pages };
  const decoder = createDecoder(compileKernels(), SHAPE, inMemoryTensors(weights), options);
  let measured = 0;
  const { answer } = createAnswers({
    context: SHAPE.context,
    promptStyle: "message",
    tokenizer: BYTE_TOKENIZER,
    ...createScheduler({
      ...decoder,
      step(parts) {
        measured += parts.reduce((sum, { wanted }) => sum + wanted, 0);
        return decoder.step(parts);
      },
    }),
  });
  return { answer, measured: () => measured };
}

/** The log probability of an answer and its end, token by token. */
function logprobOf(text: string): number {
  const prompt = BYTE_TOKENIZER.promptTokens(PROMPT, "message");
  const tokens = [...prompt, ...Buffer.from(text), SPECIALS.eos];
  const logits = logitsOf(weights, tokens.slice(0, -1), SHAPE);
  return tokens.slice(prompt.length).reduce((sum, token, i) => {
    const row = logits[prompt.length - 1 + i]!;
    return sum + row[token]! - Math.log(row.reduce((all, logit) => all + Math.exp(logit), 0));
  }, 0);
}

function probabilitiesOf(choices: readonly string[]): number[] {
  const weights = choices.map((text) => Math.exp(logprobOf(text) - logprobOf(choices[0]!)));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

test.each([
  [["yes", "no"]],
  [["one"]],
  // One that begins another, before and after it; characters of several bytes.
  [["not", "no", "nothing", "n", "né", "nè", "🌊"]],
])("each choice has the probability of its tokens and of its end: %j", async (choices) => {
  const { answer } = answersOf();
  const result = await answer({ ...PROMPT, choices }, NEVER);
  const wanted = probabilitiesOf(choices);
  expect(result.choices?.map(({ text }) => text)).toEqual(choices);
  result.choices?.forEach(({ probability }, i) => expect(probability).toBeCloseTo(wanted[i]!, 4));
  const text = choices[wanted.indexOf(Math.max(...wanted))]!;
  expect(result).toMatchObject({ text, finishReason: "stop", tokens: Buffer.byteLength(text) });
});

test("each beginning is measured once", async () => {
  const { answer, measured } = answersOf();
  await answer({ ...PROMPT, choices: ["abcd", "abce", "ab"] }, NEVER);
  // After "", "a", "ab", "abc", "abcd" and "abce".
  expect(measured()).toBe(6);
});

test("choices are the same alone and among others, also where there is room for one alone", async () => {
  const requests = Array.from({ length: 12 }, (_, i) => ({
    prompt: `${i}`.repeat(1 + 3 * i),
    choices: Array.from({ length: 1 + 5 * i }, (_, j) => `${j}${"x".repeat(j % 5)}`),
  }));
  const { answer } = answersOf();
  const alone = [];
  for (const request of requests) alone.push(await answer(request, NEVER));
  for (const pages of [undefined, SHAPE.context / 16]) {
    const one = answersOf(pages);
    const others = Array.from({ length: 20 }, (_, seed) =>
      one.answer({ prompt: "b", maxTokens: 30, temperature: 2, seed }, NEVER),
    );
    const among = await Promise.all(requests.map((request) => one.answer(request, NEVER)));
    expect(among).toEqual(alone);
    await Promise.all(others);
  }
});

test("logprobs are those of the chosen tokens", async () => {
  const { answer } = answersOf();
  const { logprobs = [] } = await answer({ ...PROMPT, choices: ["abc"], logprobs: 1 }, NEVER);
  expect(logprobs.map(({ token }) => token).join("")).toBe("abc");
  const greedy = await answer({ ...PROMPT, maxTokens: 1, logprobs: 1 }, NEVER);
  expect(logprobs[0]?.top).toEqual(greedy.logprobs?.[0]?.top);
});

test("a choice that does not fit the context is refused by its place", async () => {
  const { answer } = answersOf();
  const choices = ["a", "b".repeat(120)];
  await expect(answer({ ...PROMPT, choices }, NEVER)).rejects.toThrow(
    /^Shorten the prompt or choices\[1\]: together they have 14\d tokens, and this model's maximum context length is 128 tokens\./,
  );
});
