import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { saveModel } from "../../../engines/checkpoint/checkpoint.ts";
import { openTokenizer } from "../../../engines/checkpoint/savedTokenizer.ts";
import { dimensionsOf } from "../../../engines/families/dimensions.ts";
import { randomWeights } from "../../../engines/families/randomWeights.ts";
import type { EngineModel } from "../../../protocol/engine.ts";
import type { InferDelta, InferRequest, InferResult } from "../../../protocol/infer.ts";
import { TEMPLATES, TOOLS } from "../answers/toolTemplates.ts";
import { createEmbeddedEngine } from "../embedded/built.ts";
import { uncounted } from "../embedded/scratch.ts";
import { createScratch } from "../scratch.ts";
import { type Style, STYLES, writeTokenizer } from "../tokens/styles.ts";
import {
  type WarmPython,
  ENV,
  createPythonEngine,
  hasPython,
  startWarmPython,
} from "./environment.ts";

/** Digits behind the point that log probabilities of float32 have in common. */
const NEAR = 3;
const MARKER = "[TOOL_CALLS]";

describe.runIf(hasPython)("the Python engine's answers beside the embedded engine's", () => {
  const scratch = createScratch();
  let warm: WarmPython;

  beforeAll(async () => {
    warm = await startWarmPython();
  });
  afterAll(async () => {
    await warm.close();
    scratch.remove();
  });

  /** The folder of a small Llama with random weights. */
  function modelOf(style: Style, changes: object = {}): string {
    const folder = scratch.directory();
    const shape = dimensionsOf({
      layers: 2,
      heads: 2,
      width: 16,
      context: 640,
      vocabulary: style.size,
    });
    saveModel(folder, randomWeights(shape, 3), { shape, promptStyle: "message" });
    writeTokenizer(folder, style, changes);
    const { isStopToken } = openTokenizer(folder, style.size).tokenizer;
    const eos = Array.from({ length: style.size }, (_, id) => id).find(isStopToken);
    writeFileSync(join(folder, "generation_config.json"), JSON.stringify({ eos_token_id: eos }));
    return folder;
  }

  /** What each engine answers. @param parts the pieces together, not the result */
  async function both(folder: string, requests: InferRequest[], parts = false) {
    const models = await Promise.all([
      createEmbeddedEngine().load(folder),
      createPythonEngine({ path: warm.path, env: ENV }).load(folder),
    ]);
    const answers = await Promise.all(
      models.map(async (model) => {
        const found = [];
        for (const request of requests) found.push(await answerOf(model, request, parts));
        await model.close();
        return found;
      }),
    );
    return { ours: answers[0]!, theirs: answers[1]! };
  }

  it.each(Object.entries(STYLES))("are the same, with a tokenizer as %s's", async (_, style) => {
    const folder = modelOf(style);
    const question = { messages: [{ role: "user" as const, content: "Say something." }] };
    const first = await both(folder, [{ ...question, maxTokens: 30 }]);
    const stop = (first.ours[0] as InferResult).text.slice(6, 9);
    const { ours, theirs } = await both(folder, [
      { ...question, maxTokens: 30, logprobs: 5 },
      { ...question, maxTokens: 30, stop, logprobs: 0 },
      { prompt: "a", maxTokens: 1 },
      { ...question, choices: ["yes", "no", "not now", "n", " é", "日本"], logprobs: 2 },
      { ...question, choices: ["only"] },
      { ...question, maxTokens: 400, schema: SCHEMA },
      { ...question, maxTokens: 4, schema: SCHEMA },
      { ...question, schema: { enum: ["dér", 17, null, { a: [true] }] }, logprobs: 1 },
    ]);
    expect(first.theirs).toEqual(first.ours);
    expect(theirs).toEqual(ours.map(near));
    const [, stopped, , , , held] = ours as InferResult[];
    expect(stopped?.text).toBe((first.ours[0] as InferResult).text.split(stop)[0]);
    expect(held?.value).toEqual(JSON.parse(held?.text ?? ""));
  });

  const asked = { messages: [{ role: "user" as const, content: "?" }], tools: TOOLS };

  it.each(["hermes", "llama", "mistral"] as const)("call tools alike: %s", async (name) => {
    const folder = modelOf(withMarker(STYLES["SmolLM"]!), { chat_template: TEMPLATES[name] });
    const requests: InferRequest[] = [
      { ...asked, maxTokens: 100, toolChoice: "required" },
      { ...asked, maxTokens: 100, toolChoice: { name: TOOLS[1]!.function.name }, logprobs: 1 },
      { ...asked, maxTokens: 10 },
      { ...asked, maxTokens: 10, toolChoice: "none" },
      { ...asked, maxTokens: 100, toolChoice: "required", parallelToolCalls: false },
      { ...asked, maxTokens: 7, toolChoice: "required" },
      { prompt: "<|im_start|>user\nHi", raw: true, maxTokens: 5 },
    ];
    for (const parts of [false, true]) {
      const { ours, theirs } = await both(folder, requests, parts);
      expect(theirs).toEqual(ours.map(near));
      const [required, named] = ours as InferResult[];
      expect(required?.toolCalls?.[0]?.type).toBe("function");
      const called = { name: TOOLS[1]!.function.name, arguments: "{}" };
      expect(named?.toolCalls?.[0]).toEqual({ type: "function", function: called });
    }
  });

  it("give the chat template every digit and the order of keys, alike", async () => {
    const template =
      "{{ raise_exception((messages[1].tool_calls[0].function.arguments | tojson) ~ (tools | tojson)) }}{# tool_calls #}";
    const folder = modelOf(STYLES["SmolLM"]!, { chat_template: template });
    const said = '{"id": 2512292042121000001, "10": 1.0, "2": {"b": 1e+22, "0": -0.0}}';
    const parameters = { id: 2512292042121000001n, a: 1.5 };
    const tool = { type: "function" as const, function: { name: "f", parameters } };
    const requests = [said, parameters].map((given): InferRequest => ({
      messages: [
        { role: "user", content: "?" },
        {
          role: "assistant",
          tool_calls: [{ type: "function", function: { name: "f", arguments: given } }],
        },
      ],
      tools: [tool],
    }));
    const { ours, theirs } = await both(folder, requests);
    expect(theirs).toEqual(ours);
    const shown = '{"id": 2512292042121000001, "a": 1.5}';
    const tools = `[{"type": "function", "function": {"name": "f", "parameters": ${shown}}}]`;
    expect(ours[0]).toContain(`: ${said}${tools}`);
    expect(ours[1]).toContain(`: ${shown}${tools}`);
  });

  it("refuse alike what no answer can be held to", async () => {
    const folder = modelOf(STYLES["SmolLM"]!, { chat_template: TEMPLATES.unknown });
    const { ours, theirs } = await both(folder, [
      { ...asked, toolChoice: "required" },
      { prompt: "a", schema: { type: "string", pattern: "\\bx" } },
      { prompt: "a", schema: { type: "object", requird: ["a"] } },
      { prompt: "a".repeat(9_000) },
      { prompt: "a", choices: ["a", "b".repeat(9_000)] },
    ]);
    expect(theirs).toEqual(ours);
    for (const one of ours) expect(one).toMatch(/^KitError: /);
  });
});

const SCHEMA = {
  type: "object",
  properties: {
    name: { type: "string", maxLength: 6 },
    age: { type: "integer", minimum: 0, maximum: 150 },
    tags: { type: "array", items: { enum: ["a", "é"] }, maxItems: 2 },
    when: { type: "string", format: "date" },
    next: { $ref: "#/$defs/next" },
  },
  required: ["name", "age", "tags", "when", "next"],
  additionalProperties: false,
  $defs: {
    next: {
      anyOf: [
        { type: "null" },
        { type: "object", properties: { next: { $ref: "#/$defs/next" } }, required: ["next"] },
      ],
    },
  },
};

/** The tokenizer with one more special token, as Mistral's have it. */
function withMarker(style: Style): Style {
  const file = style.tokenizer as { added_tokens: object[] };
  const plain = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  const marker = { ...plain, id: style.size, content: MARKER, special: true };
  const tokenizer = { ...file, added_tokens: [...file.added_tokens, marker] };
  return { ...style, tokenizer, size: style.size + 1 };
}

async function answerOf(model: EngineModel, request: InferRequest, parts: boolean) {
  const pieces: InferDelta[] = [];
  const answer = await model.infer(request, (piece) => pieces.push(piece)).catch(String);
  if (!parts) return typeof answer === "string" ? answer : uncounted(answer);
  return {
    text: pieces.map(({ text }) => text).join(""),
    toolCalls: pieces.flatMap(({ toolCalls }) => toolCalls ?? []),
    logprobs: pieces.flatMap(({ logprobs }) => logprobs ?? []),
  };
}

/** The same, but for the last digits of its numbers. */
function near(value: unknown): unknown {
  if (typeof value === "number" && !Number.isInteger(value)) return expect.closeTo(value, NEAR);
  if (Array.isArray(value)) return value.map(near);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, near(one)]));
}
