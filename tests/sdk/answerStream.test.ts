import { expect, test, vi } from "vitest";
import type { EngineModel } from "../../protocol/engine.ts";
import type { InferDelta, InferRequest, InferResult } from "../../protocol/infer.ts";
import { guardModel } from "../../sdk/models/engineModel.ts";

const ANSWER: InferResult = { text: "abc", finishReason: "stop", promptTokens: 2, tokens: 3 };

type Told = ((piece: InferDelta) => void) | undefined;

/** A model that answers so. */
function modelOf(infer: (request: InferRequest, onDelta: Told) => Promise<InferResult>) {
  const model: EngineModel = { infer, close: () => Promise.resolve() };
  return guardModel("mine", model);
}

async function piecesOf(stream: AsyncIterable<string>): Promise<string[]> {
  const pieces: string[] = [];
  for await (const piece of stream) pieces.push(piece);
  return pieces;
}

test("pieces come as they are told; who reads slowly gets them as one", async () => {
  let tell: Told;
  let answer: (result: InferResult) => void = () => {};
  const model = modelOf((_, onDelta) => {
    tell = onDelta;
    return new Promise((resolve) => (answer = resolve));
  });
  const stream = model.stream({ prompt: "x" });
  const reading = stream[Symbol.asyncIterator]();
  const first = reading.next();
  await vi.waitFor(() => expect(tell).toBeDefined());
  tell?.({ text: "a" });
  expect(await first).toEqual({ done: false, value: "a" });
  tell?.({ text: "" });
  tell?.({ text: "b" });
  tell?.({ text: "c" });
  expect(await reading.next()).toEqual({ done: false, value: "bc" });
  answer(ANSWER);
  expect(await reading.next()).toMatchObject({ done: true });
  expect(await stream.result).toBe(ANSWER);
});

test("an engine that tells no parts gives its text as one piece", async () => {
  const stream = modelOf(() => Promise.resolve(ANSWER)).stream({ prompt: "x" });
  expect(await piecesOf(stream)).toEqual(["abc"]);
});

test("breaking off the loop aborts the answer", async () => {
  let signal: AbortSignal | undefined;
  const model = modelOf((request, onDelta) => {
    signal = request.signal;
    onDelta?.({ text: "a" });
    return new Promise((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal?.reason as Error));
    });
  });
  const stream = model.stream({ prompt: "x" });
  for await (const piece of stream) {
    expect([piece, signal?.aborted]).toEqual(["a", false]);
    break;
  }
  expect(signal?.aborted).toBe(true);
  await expect(stream.result).rejects.toMatchObject({ name: "AbortError" });
});

test("the request's signal ends the stream with its reason", async () => {
  const mine = new AbortController();
  const model = modelOf(
    ({ signal }) =>
      new Promise((_, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason as Error));
      }),
  );
  const reading = piecesOf(model.stream({ prompt: "x", signal: mine.signal }));
  await Promise.resolve();
  mine.abort(new Error("mine"));
  await expect(reading).rejects.toThrow("mine");
});

test("an error comes to the reader and the result, and to nobody who reads neither", async () => {
  const unhandled = vi.fn();
  process.on("unhandledRejection", unhandled);
  const model = modelOf(() => Promise.reject(new Error("broken")));
  model.stream({ prompt: "x" });
  const stream = model.stream({ prompt: "x" });
  await expect(piecesOf(stream)).rejects.toThrow("broken");
  await expect(stream.result).rejects.toThrow("broken");
  await expect(piecesOf(model.stream({} as never))).rejects.toThrow(/infer: pass messages/);
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", unhandled);
  expect(unhandled).not.toHaveBeenCalled();
});

test.each([
  undefined,
  {},
  { text: 1 },
  { text: "a", logprobs: [{}] },
  { text: "", toolCalls: [1] },
])("a wrong part is an error that names the engine: %j", async (told) => {
  const model = modelOf(({ signal }, onDelta) => {
    onDelta?.(told as never);
    return signal?.aborted ? Promise.reject(signal.reason as Error) : Promise.resolve(ANSWER);
  });
  await expect(piecesOf(model.stream({ prompt: "x" }))).rejects.toMatchObject({
    code: "ENGINE_REPORT_INVALID",
    message: expect.stringMatching(
      /^The engine mine answered .* is not a part of an answer/,
    ) as string,
  });
});
