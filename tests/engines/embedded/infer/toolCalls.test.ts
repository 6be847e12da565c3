import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import { saveModel } from "../../../../engines/checkpoint/checkpoint.ts";
import { dimensionsOf } from "../../../../engines/families/dimensions.ts";
import { randomWeights } from "../../../../engines/families/randomWeights.ts";
import type { InferDelta, InferRequest } from "../../../../protocol/infer.ts";
import { TEMPLATES, TOOLS } from "../../answers/toolTemplates.ts";
import { STYLES, writeTokenizer } from "../../tokens/styles.ts";
import { createEmbeddedEngine } from "../built.ts";
import { scratchDirectory, uncounted } from "../scratch.ts";

const STYLE = STYLES["SmolLM"]!;
const SHAPE = dimensionsOf({
  layers: 1,
  heads: 2,
  kvHeads: 1,
  width: 16,
  intermediateSize: 32,
  context: 512,
  vocabulary: STYLE.size + 1,
  tied: true,
});
const MARKER = { id: STYLE.size, content: "[TOOL_CALLS]", special: true };
const ASKED = { messages: [{ role: "user" as const, content: "Where is Emma?" }], tools: TOOLS };

/** A random model whose chat template writes calls so. */
function modelOf(name: keyof typeof TEMPLATES) {
  const path = join(scratchDirectory(), "model");
  saveModel(path, randomWeights(SHAPE, 1), { shape: SHAPE, promptStyle: "message" });
  const file = STYLE.tokenizer as { added_tokens: object[] };
  const plain = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  const tokenizer = { ...file, added_tokens: [...file.added_tokens, { ...plain, ...MARKER }] };
  writeTokenizer(path, { ...STYLE, tokenizer }, { chat_template: TEMPLATES[name] });
  return createEmbeddedEngine().load(path);
}

const validators = new Map(
  TOOLS.map(({ function: { name, parameters } }) => [name, new Ajv2020().compile(parameters)]),
);

test.each(["hermes", "llama", "mistral"] as const)(
  "%s: a call that is required comes in the template's form, with arguments that the tool takes",
  async (name) => {
    const model = await modelOf(name);
    for (const toolChoice of ["required", { name: "find_book" }, { name: 'say "hi"' }] as const) {
      for (const seed of [0, 1, 2, 3]) {
        const drawn = seed > 0 && { temperature: 2, seed };
        const request: InferRequest = { ...ASKED, ...drawn, toolChoice, maxTokens: 400 };
        const pieces: InferDelta[] = [];
        const found = await model.infer(request, (piece) => pieces.push(piece));
        // Drawn at random, some call on and on.
        if (seed === 0) expect(found).toMatchObject({ finishReason: "toolCalls", text: "" });
        expect(found.toolCalls).not.toEqual([]);
        for (const { function: called } of found.toolCalls ?? []) {
          const isRight = validators.get(called.name);
          expect(isRight?.(JSON.parse(called.arguments as string)), JSON.stringify(called)).toBe(
            true,
          );
          if (typeof toolChoice === "object") expect(called.name).toBe(toolChoice.name);
        }
        if (typeof toolChoice === "object") expect(found.toolCalls).toHaveLength(1);
        expect(pieces.flatMap(({ toolCalls = [] }) => toolCalls)).toEqual(found.toolCalls);
      }
    }
    await model.close();
  },
);

test.each(["hermes", "llama", "mistral"] as const)(
  "%s: an answer that is cut off in its call has no text",
  async (name) => {
    const model = await modelOf(name);
    const request = { ...ASKED, toolChoice: { name: "find_book" } };
    const { tokens } = await model.infer({ ...request, maxTokens: 400 });
    for (let maxTokens = 1; maxTokens < tokens; maxTokens++) {
      const cut = await model.infer({ ...request, maxTokens });
      expect(cut).toMatchObject({ text: "", finishReason: "length", tokens: maxTokens });
      expect(cut.toolCalls).toBeUndefined();
    }
    await model.close();
  },
);

test("an answer has one call where it may have no more", async () => {
  const model = await modelOf("hermes");
  const request = { ...ASKED, toolChoice: "required", temperature: 2, maxTokens: 400 } as const;
  const counts = new Set<number | undefined>();
  for (const seed of [1, 2, 3, 4]) {
    const { toolCalls } = await model.infer({ ...request, seed });
    counts.add(toolCalls?.length);
    const one = await model.infer({ ...request, seed, parallelToolCalls: false });
    expect(one).toMatchObject({ text: "", finishReason: "toolCalls" });
    expect(one.toolCalls).toHaveLength(1);
  }
  expect(Math.max(...[...counts].map(Number))).toBeGreaterThan(1);
  await model.close();
});

test("a tool without parameters is called without arguments", async () => {
  const model = await modelOf("hermes");
  for (const parameters of [undefined, {}, { type: "object", properties: {} }]) {
    const tools = [
      { type: "function" as const, function: { name: "now", ...(parameters && { parameters }) } },
    ];
    const found = await model.infer({ ...ASKED, tools, toolChoice: { name: "now" } });
    expect(found.toolCalls?.[0]?.function).toEqual({ name: "now", arguments: "{}" });
  }
  await model.close();
});

test("an error of a tool says which one", async () => {
  const model = await modelOf("hermes");
  const [first] = ASKED.tools;
  for (const [parameters, message] of [
    [{ type: "array" }, /^tools\[1\]: "parameters" must be a JSON Schema of type "object"/],
    [
      { type: "object", requird: [] },
      /^tools\[1\]: Kit can't enforce this part of the schema: "requird"\./,
    ],
  ] as const) {
    const tools = [first!, { type: "function", function: { name: "b", parameters } }] as const;
    for (const toolChoice of ["required", { name: "b" }] as const) {
      const error = await model
        .infer({ ...ASKED, tools, toolChoice })
        .catch((caught: unknown) => caught);
      expect(error).toMatchObject({ fault: { option: "tools[1].function.parameters" } });
      expect((error as Error).message).toMatch(message);
    }
    const found = await model.infer({ ...ASKED, tools, toolChoice: { name: "find_book" } });
    expect(found.toolCalls).toHaveLength(1);
  }
  await model.close();
});

test("a form that is not known is told when a call is required; otherwise calls stay text", async () => {
  const model = await modelOf("unknown");
  await expect(model.infer({ ...ASKED, toolChoice: "required" })).rejects.toMatchObject({
    code: "REQUEST_INVALID",
    message: expect.stringContaining("Kit can't enforce a call") as string,
    fault: { option: "toolChoice" },
  });
  expect((await model.infer({ ...ASKED, maxTokens: 2 })).toolCalls).toBeUndefined();
  await model.close();
});

test("tools that may not be called are not told to the model", async () => {
  const model = await modelOf("hermes");
  const { tools: _, ...without } = ASKED;
  const plain = await model.infer({ ...without, maxTokens: 5 });
  const none = await model.infer({ ...ASKED, toolChoice: "none", maxTokens: 5 });
  expect(uncounted(none)).toEqual(uncounted(plain));
  const told = await model.infer({ ...ASKED, maxTokens: 5 });
  expect(told.promptTokens).toBeGreaterThan(plain.promptTokens);
  await model.close();
});

test("beside a schema, an answer is its JSON or a call", async () => {
  const model = await modelOf("hermes");
  const schema = { type: "object", properties: { floor: { enum: [1, 2] } }, required: ["floor"] };
  const reasons = new Set<string>();
  for (let seed = 0; seed < 12; seed++) {
    const found = await model.infer({ ...ASKED, schema, temperature: 3, seed, maxTokens: 400 });
    reasons.add(found.finishReason);
    if (found.finishReason === "stop")
      expect(found.value).toEqual({ floor: expect.any(Number) as number });
    else expect(found.value).toBeUndefined();
  }
  expect([...reasons]).toEqual(expect.arrayContaining(["stop", "toolCalls"]));
  await model.close();
});

test("answers are the same alone and among others, whatever each is held to", async () => {
  const model = await modelOf("mistral");
  const requests: InferRequest[] = [
    { ...ASKED, toolChoice: "required", temperature: 1, seed: 1 },
    { ...ASKED, temperature: 1, seed: 2 },
    {
      prompt: "a",
      schema: { type: "array", items: { type: "integer" }, minItems: 3 },
      temperature: 1,
    },
    { prompt: "a", schema: { type: "string", maxLength: 9 }, temperature: 2, seed: 3 },
    { prompt: "a", choices: ["one", "two", "three"] },
    { prompt: "a", temperature: 2, logprobs: 2, stop: "e" },
  ].map((request) => ({ maxTokens: 60, ...request }) as InferRequest);
  const alone = [];
  for (const request of requests) alone.push(await model.infer(request));
  const all = [...requests, ...requests.toReversed()];
  const among = await Promise.all(all.map((request) => model.infer(request)));
  expect(among.map(uncounted)).toEqual([...alone, ...alone.toReversed()].map(uncounted));
  await model.close();
});
