import { expect, test } from "vitest";
import type { LoadedModel } from "../../protocol/engine.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import { guardModel } from "../../sdk/models/engineModel.ts";

const ANSWER = { text: "yes", finishReason: "stop", promptTokens: 1, tokens: 1 } as const;

/** A model that answers this, with the requests that reach it. */
function modelThatAnswers(answer: unknown): { model: LoadedModel; asked: InferRequest[] } {
  const asked: InferRequest[] = [];
  const infer = (request: InferRequest) => {
    asked.push(request);
    return Promise.resolve(answer as typeof ANSWER);
  };
  return { model: guardModel("mine", { infer, close: () => Promise.resolve() }), asked };
}

test("a right request and its answer pass as they are", async () => {
  const { model, asked } = modelThatAnswers(ANSWER);
  const request = { prompt: "x", maxTokens: 1, topP: 0.5, seed: 7, temperature: 1 };
  expect(await model.infer(request)).toBe(ANSWER);
  expect(asked).toEqual([request]);
});

test.each([
  [{ messages: [] }, /infer: pass messages \(/],
  [
    { messages: [{ role: "bot", content: "x" }] },
    /infer: messages\[0\] has the role "bot": write "assistant"/,
  ],
  [{ messages: [{ role: "user", content: "x" }], tools: [{}] }, /tools\[0\] is not/],
  [{ prompt: "x", tools: [{ type: "function", function: { name: "f" } }] }, /tools need messages/],
  [{ prompt: "x", temperature: -1 }, /infer: temperature must be a number of at least 0/],
  [{ prompt: "x", topP: 0 }, /infer: topP must be a number above 0 and at most 1/],
  [{ prompt: "x", maxTokens: 0.5 }, /infer: maxTokens must be a whole number of at least 1/],
  [{ messages: "x" }, /infer: pass messages \(/],
  [{ prompt: [{ role: "user", content: "x" }] }, /infer: pass messages \(/],
  [{ prompt: "x", temperature: "hot" }, /infer: temperature must be a number of at least 0/],
  [{ prompt: "x", seed: {} }, /infer: seed must be a whole number of at least 0/],
  [{ prompt: "x", signal: {} }, /infer: signal must be an AbortSignal/],
  [
    { prompt: "x", max_tokens: 3 },
    /infer: unknown option "max_tokens"\. Did you mean "maxTokens"\? It/,
  ],
  [{ prompt: "x", onToken() {} }, /infer: unknown option "onToken"\. It takes messages,/],
  [undefined, /infer: pass \{ prompt \} or \{ messages \}, not undefined\./],
  ["x", /infer: pass \{ prompt \} or \{ messages \}, not 'x'\./],
])("a wrong request is a clear error and reaches no engine: %j", async (request, message) => {
  const { model, asked } = modelThatAnswers(ANSWER);
  await expect(model.infer(request as never)).rejects.toThrow(message);
  expect(asked).toEqual([]);
});

test.each([undefined, "yes", {}, { ...ANSWER, tokens: -1 }, { ...ANSWER, finishReason: "done" }])(
  "a wrong answer is an error that names the engine: %j",
  async (answer) => {
    await expect(modelThatAnswers(answer).model.infer({ prompt: "x" })).rejects.toMatchObject({
      code: "ENGINE_REPORT_INVALID",
      message: expect.stringMatching(
        /^The engine mine answered .*, which is not an answer\. Update/,
      ),
    });
  },
);
