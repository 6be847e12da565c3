import { expect, it } from "vitest";
import { createAnswers, refuseLongPrompt } from "../../../engines/answers/answers.ts";

const CONTEXT = 100;

it.each([
  { prompt: " ".repeat(1601) },
  { messages: [{ role: "user", content: "a".repeat(1601) }] },
  {
    messages: [{ role: "user", content: "a" }],
    tools: [{ type: "function", function: { name: "a", description: "a".repeat(1601) } }],
  },
] as const)(
  "a prompt that cannot fit is refused before it is split into tokens",
  async (request) => {
    expect(() => refuseLongPrompt(request, CONTEXT)).toThrow(
      /^The prompt is too long: it has \d{4} characters, of which at most 1600 fit, and this model's maximum context length is 100 tokens\. Shorten it\.$/,
    );
    const promptTokens = () => {
      throw new Error("It was split.");
    };
    const tokenizer = {
      vocabulary: 1,
      promptTokens,
      isTextToken: () => true,
      isStopToken: () => true,
    };
    const { answer } = createAnswers({
      ...{ context: CONTEXT, promptStyle: "message", tokenizer: tokenizer as never },
      read: () => Promise.reject(new Error("It was read.")),
    });
    await expect(answer(request, { isCancelled: () => false })).rejects.toThrow(
      "The prompt is too long",
    );
  },
);

it("a prompt that may fit is not", () => {
  refuseLongPrompt({ prompt: " ".repeat(1600) }, CONTEXT);
});
