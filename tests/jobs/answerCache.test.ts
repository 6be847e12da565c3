import { afterAll, expect, test } from "vitest";
import { openAnswerCache } from "../../jobs/answerCache.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import { parseJson } from "../../protocol/json.ts";
import { createScratch } from "../engines/scratch.ts";

const scratch = createScratch();
afterAll(() => scratch.remove());

/** Asks with a tool whose schema is this JSON. */
function requestOf(parameters: string): InferRequest {
  const tool = { type: "function" as const, function: { name: "look" } };
  const described = { ...tool.function, parameters: parseJson(parameters) as object };
  return {
    messages: [{ role: "user", content: "?" }],
    tools: [{ ...tool, function: described }],
  } as InferRequest;
}

test("answers to requests that differ in a digit, a float or the order of keys are kept apart", () => {
  const project = scratch.directory();
  const open = () => openAnswerCache(project, "model", (note) => expect.unreachable(note));
  const schemas = [
    ...['{"maximum":2512292042121000001}', '{"maximum":2512292042121000000}'],
    ...['{"maximum":1.0}', '{"maximum":1}', '{"10":1,"2":1}', '{"2":1,"10":1}'],
  ];
  const { get, set } = open();
  for (const schema of schemas) {
    expect(get(requestOf(schema))).toBeUndefined();
    set(requestOf(schema), { text: schema, tokens: 9, finishReason: "stop" });
  }
  const again = open();
  for (const schema of schemas) expect(again.get(requestOf(schema))).toBe(schema);
});

test("an answer that came to its end is that of a higher limit, too", () => {
  const project = scratch.directory();
  const { get, set } = openAnswerCache(project, "model", (note) => expect.unreachable(note));
  const ask = (prompt: string, maxTokens: number) => get({ prompt, maxTokens });
  set({ prompt: "ended", maxTokens: 8 }, { text: "yes", tokens: 3, finishReason: "stop" });
  set({ prompt: "cut", maxTokens: 8 }, { text: "ye", tokens: 8, finishReason: "length" });
  expect([2, 3, 8, 9].map((most) => ask("ended", most))).toEqual([undefined, "yes", "yes", "yes"]);
  expect([2, 8, 9].map((most) => ask("cut", most))).toEqual([undefined, "ye", undefined]);
});
