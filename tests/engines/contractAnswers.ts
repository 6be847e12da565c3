import { expect, it } from "vitest";
import type { EngineModel } from "../../protocol/engine.ts";
import type { InferDelta, InferRequest } from "../../protocol/infer.ts";
import { type GuardedModel, guardModel } from "../../sdk/models/engineModel.ts";
import { uncounted } from "./embedded/scratch.ts";

const QUESTION = { messages: [{ role: "user" as const, content: "1" }], maxTokens: 4 };
/** Drawn, so that it has many characters. */
const RAMBLING = { ...QUESTION, maxTokens: 12, temperature: 3, seed: 2 };

const SCHEMA = {
  type: "object",
  properties: { digit: { enum: ["0", "1"] }, note: { type: "string", maxLength: 3 } },
  required: ["digit", "note"],
  additionalProperties: false,
};

/** What every engine's model answers, of a part of the contract's training: a "1" for an odd digit, else a "0". */
export function describeAnswers(name: string, load: () => Promise<EngineModel>): void {
  async function asking<T>(ask: (model: GuardedModel) => Promise<T>): Promise<T> {
    const model = guardModel(name, await load());
    try {
      return await ask(model);
    } finally {
      await model.close();
    }
  }

  it("says how many tokens a prompt has", () =>
    asking(async (model) => {
      expect(await model.infer(QUESTION)).toMatchObject({ promptTokens: 5 });
    }));

  it("goes on with a raw prompt as it is", () =>
    asking(async (model) => {
      const raw = await model.infer({ prompt: "1", raw: true, maxTokens: 1 });
      expect(raw).toMatchObject({ promptTokens: 2 });
    }));

  it("reads half a character as U+FFFD", () =>
    asking(async (model) => {
      const ask = async (content: string) =>
        uncounted(
          await model.infer({ ...QUESTION, messages: [{ role: "user", content }], stop: content }),
        );
      expect(await ask("\ud83d1")).toEqual(await ask("\ufffd1"));
    }));

  it("streams what it answers, and its result", () =>
    asking(async (model) => {
      for (const request of [QUESTION, RAMBLING]) {
        const answer = await model.infer(request);
        const stream = model.stream(request);
        let text = "";
        for await (const piece of stream) text += piece;
        expect([text, uncounted(await stream.result)]).toEqual([answer.text, uncounted(answer)]);
        const pieces: InferDelta[] = [];
        const streamed = await model.infer(request, (piece) => pieces.push(piece));
        expect(uncounted(streamed)).toEqual(uncounted(answer));
        expect(pieces.map((one) => one.text).join("")).toBe(answer.text);
      }
    }));

  it("ends an answer that nobody reads on, and answers the next", () =>
    asking(async (model) => {
      const answer = await model.infer(QUESTION);
      const stream = model.stream({ ...RAMBLING, maxTokens: 40 });
      for await (const piece of stream) {
        expect(piece).not.toBe("");
        break;
      }
      await stream.result.catch((error: unknown) =>
        expect(error).toMatchObject({ name: "AbortError" }),
      );
      expect(uncounted(await model.infer(QUESTION))).toEqual(uncounted(answer));
    }));

  it("stops telling an answer that is aborted, and rejects with the reason", () =>
    asking(async (model) => {
      const [abort, reason] = [new AbortController(), new Error("enough")];
      const told: InferDelta[] = [];
      const aborted = model.infer({ ...RAMBLING, signal: abort.signal }, (piece) => {
        told.push(piece);
        abort.abort(reason);
      });
      await expect(aborted).rejects.toBe(reason);
      await model.infer(RAMBLING);
      expect(told).toHaveLength(1);
    }));

  it("ends an answer before a text that stops it, also one across tokens", () =>
    asking(async (model) => {
      const whole = await model.infer(RAMBLING);
      const stop = whole.text.slice(3, 6);
      const before = whole.text.slice(0, whole.text.indexOf(stop));
      for (const stops of [stop, ["none of it", stop]]) {
        const found = await model.infer({ ...RAMBLING, stop: stops });
        expect(found).toMatchObject({ text: before, finishReason: "stop" });
        expect(found.tokens).toBeLessThan(whole.tokens);
        let text = "";
        for await (const piece of model.stream({ ...RAMBLING, stop: stops })) text += piece;
        expect(text).toBe(before);
      }
    }));

  it("chooses the likeliest of given answers, and says how likely each is", () =>
    asking(async (model) => {
      const found = await model.infer({ ...QUESTION, choices: ["0", "10", "1"] });
      expect(found).toMatchObject({ finishReason: "stop", promptTokens: 5 });
      const { choices = [] } = found;
      expect(choices.map(({ text }) => text)).toEqual(["0", "10", "1"]);
      expect(choices.reduce((sum, { probability }) => sum + probability, 0)).toBeCloseTo(1, 6);
      const likeliest = choices.toSorted((a, b) => b.probability - a.probability)[0];
      expect(likeliest?.text).toBe(found.text);
      // A model that sees the last token alone has learned no digit.
      if (name !== "separate") expect(found.text).toBe("1");
      const long = model.infer({ ...QUESTION, choices: ["1", "0".repeat(60)] });
      await expect(long).rejects.toThrow(/^Shorten the prompt or choices\[1\]: /);
      await expect(long).rejects.toMatchObject({ fault: { option: "messages", isTooLong: true } });
    }));

  it("holds an answer to a regular expression, as it is and as a whole", () =>
    asking(async (model) => {
      for (const [pattern, expected] of [
        ['"1\\n"|<b>', /^(?:"1\n"|<b>)$/],
        ["^[xé]{2}$", /^[xé]{2}$/u],
        ["(\\d{3}-)+end", /^(?:\d{3}-)+end$/],
      ] as const) {
        const request = { ...RAMBLING, maxTokens: 40, pattern };
        const found = await model.infer(request);
        if (found.finishReason === "stop") expect(found.text).toMatch(expected);
        expect(uncounted(await model.stream(request).result)).toEqual(uncounted(found));
      }
      await expect(model.infer({ ...QUESTION, pattern: "(?<=a)" })).rejects.toMatchObject({
        message: expect.stringContaining('regular expression "(?<=a)" (a lookbehind)') as string,
        fault: { option: "pattern" },
      });
    }));

  it("says of what in a request an error is", () =>
    asking(async (model) => {
      const long = "1".repeat(60);
      for (const [request, fault] of [
        [{ prompt: long }, { option: "prompt", isTooLong: true }],
        [{ messages: [{ role: "user", content: long }] }, { option: "messages", isTooLong: true }],
        [{ ...QUESTION, schema: { not: {} } }, { option: "schema" }],
        [{ ...QUESTION, stop: "" }, { option: "stop" }],
      ] as const) {
        const error = await model.infer(request).catch((caught: unknown) => caught);
        expect(error).toMatchObject({ code: "REQUEST_INVALID", fault });
      }
      await expect(model.infer({ prompt: long })).rejects.toThrow(
        /this model's maximum context length is 48 tokens\./,
      );
    }));

  it("checks a request without an answer, if it can", () =>
    asking(async ({ check }) => {
      if (!check) return;
      expect(await check({ ...QUESTION, choices: ["1"] })).toBeUndefined();
      const long = check({ prompt: "1".repeat(60) });
      await expect(long).rejects.toMatchObject({ fault: { option: "prompt", isTooLong: true } });
    }));

  it("tells the log probability of each token, and of the likeliest in its place", () =>
    asking(async (model) => {
      for (const [request, top] of [
        [QUESTION, 0],
        [QUESTION, 3],
        [RAMBLING, 20],
      ] as [InferRequest, number][]) {
        const { logprobs = [], tokens, text } = await model.infer({ ...request, logprobs: top });
        expect(logprobs).toHaveLength(tokens);
        const bytes = Buffer.from(logprobs.flatMap((one) => one.bytes));
        expect(bytes.toString().startsWith(text)).toBe(true);
        for (const one of logprobs) {
          expect(one.top).toHaveLength(top);
          const values = one.top.map(({ logprob }) => logprob);
          expect(values).toEqual(values.toSorted((a, b) => b - a));
          expect(one.logprob).toBeLessThanOrEqual(Math.min(0, ...values.slice(0, 1)));
          expect(values.reduce((sum, value) => sum + Math.exp(value), 0)).toBeLessThan(1.0001);
        }
      }
    }));

  it("holds an answer to a schema, greedy or drawn", () =>
    asking(async (model) => {
      for (const more of [{}, { temperature: 1, seed: 3 }, { temperature: 3, seed: 4 }]) {
        const request = { ...QUESTION, ...more, maxTokens: 40, schema: SCHEMA };
        const found = await model.infer(request);
        if (found.finishReason === "length") {
          expect(found.value).toBeUndefined();
          continue;
        }
        expect(found.value).toEqual(JSON.parse(found.text));
        expect(found.value).toEqual({
          digit: expect.stringMatching(/^[01]$/) as string,
          note: expect.stringMatching(/^.{0,3}$/su) as string,
        });
        const stream = model.stream(request);
        expect(uncounted(await stream.result)).toEqual(uncounted(found));
      }
      const id = 2512292042121000001n;
      const exact = { type: "object", properties: { id: { const: id } }, required: ["id"] };
      expect(await model.infer({ ...QUESTION, maxTokens: 40, schema: exact })).toMatchObject({
        ...{ text: `{"id":${id}}`, value: { id } },
      });
      const cut = await model.infer({ ...QUESTION, maxTokens: 3, schema: SCHEMA });
      expect([cut.finishReason, "value" in cut]).toEqual(["length", false]);
      for (const [schema, message] of [
        [{ requird: [] }, '"requird"'],
        [
          { $ref: "#/$defs/a", $defs: { a: { anyOf: [{ $ref: "#/$defs/a" }] } } },
          "refers directly to itself",
        ],
      ] as const) {
        await expect(model.infer({ ...QUESTION, schema })).rejects.toMatchObject({
          code: "REQUEST_INVALID",
          message: expect.stringContaining(message) as string,
        });
      }
      expect((await model.infer(QUESTION)).tokens).toBeGreaterThan(0);
    }));
}
