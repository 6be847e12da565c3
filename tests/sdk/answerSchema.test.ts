import { toStandardJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { expect, test } from "vitest";
import * as z from "zod";
import { createConstraints } from "../../engines/answers/grammar/constraint.ts";
import { createRandom } from "../../engines/dataset/random.ts";
import { BYTE_TOKENIZER } from "../../engines/tokens/byteTokenizer.ts";
import type { AnswerSchema, InferRequest } from "../../protocol/infer.ts";
import { asJsonSchema } from "../../sdk/validation/answerSchema.ts";
import { checkRequest } from "../../sdk/validation/inferRequest.ts";

const ZOD = z.object({
  name: z.string().min(1).max(4),
  email: z.email(),
  at: z.iso.date(),
  share: z.number().min(0).max(1),
  count: z.int().positive(),
  pair: z.tuple([z.boolean(), z.null()]),
  kind: z.discriminatedUnion("k", [
    z.object({ k: z.literal("a") }),
    z.object({ k: z.literal("b"), n: z.int32().nullable() }),
  ]),
  label: z.enum(["x", "y"]).optional(),
  kept: z.string().max(2).default("z"),
  flags: z.record(z.enum(["p", "q"]), z.boolean()),
  both: z.intersection(z.object({ u: z.boolean() }), z.object({ w: z.boolean() })),
});
const VALIBOT = v.object({
  name: v.pipe(v.string(), v.minLength(1), v.maxLength(4)),
  at: v.pipe(v.string(), v.isoDate()),
  count: v.pipe(v.number(), v.integer(), v.minValue(1)),
  code: v.pipe(v.string(), v.regex(/^[a-c]{3}$/)),
  kind: v.variant("k", [v.object({ k: v.literal("a") }), v.object({ k: v.literal("b") })]),
  label: v.optional(v.picklist(["x", "y"])),
  tags: v.pipe(v.array(v.boolean()), v.maxLength(2)),
  none: v.nullable(v.boolean()),
});

/** JSON that is drawn as a schema allows it. */
function drawn(schema: Awaited<ReturnType<typeof asJsonSchema>>, seed: number): unknown {
  const constraint = createConstraints(BYTE_TOKENIZER).begin({ schema });
  const random = createRandom(seed);
  const bytes: number[] = [];
  for (;;) {
    const mask = constraint.allowed();
    const may = (id: number) => ((mask[id >>> 5]! >>> (id & 31)) & 1) === 1;
    const all = Array.from({ length: 264 }, (_, id) => id).filter(may);
    const leading = all.filter(
      (id) => BYTE_TOKENIZER.isEnd(id) || '"}]'.includes(String.fromCharCode(id)),
    );
    const some = leading.length > 0 && random.uniform() < 0.3 ? leading : all;
    const token = some[Math.floor(random.uniform() * some.length)]!;
    if (BYTE_TOKENIZER.isEnd(token)) return JSON.parse(Buffer.from(bytes).toString());
    constraint.accept(token);
    bytes.push(token);
  }
}

test.each([
  ["zod", ZOD, (value: unknown) => ZOD.safeParse(value).success],
  ["valibot", VALIBOT, (value: unknown) => v.is(VALIBOT, value)],
  ["valibot, converted", toStandardJsonSchema(VALIBOT), (value: unknown) => v.is(VALIBOT, value)],
] as [string, AnswerSchema, (value: unknown) => boolean][])(
  "what is held to a schema of %s is what that schema takes",
  async (_, schema, takes) => {
    const { schema: converted } = await checkRequest({ prompt: "x", schema });
    for (let seed = 0; seed < 40; seed++) {
      const value = drawn(converted as never, seed);
      expect(takes(value), JSON.stringify(value)).toBe(true);
    }
  },
);

test("a schema that is no schema, or does not convert, is refused", async () => {
  const standard = { "~standard": { version: 1, vendor: "other", validate: () => ({ value: 1 }) } };
  for (const schema of ["x", 1, null, [], () => 1, standard]) {
    await expect(asJsonSchema(schema)).rejects.toMatchObject({
      code: "REQUEST_INVALID",
      message: expect.stringMatching(/^infer needs a JSON Schema as its schema/) as string,
    });
  }
  await expect(asJsonSchema(z.object({ at: z.date() }))).rejects.toThrow(
    /^infer cannot make a JSON Schema of its schema: .* Change that part, or pass a JSON Schema\.$/,
  );
});

const TOOLS = [{ type: "function" as const, function: { name: "f" } }];
const CHAT = { messages: [{ role: "user" as const, content: "x" }], tools: TOOLS };

test.each([
  [{ stop: "" }, /needs a string, or up to 16, of 1 to 1000 characters as its stop/],
  [{ stop: ["a", 1] }, /as its stop/],
  [{ stop: Array.from({ length: 17 }, String) }, /as its stop/],
  [{ stop: "a".repeat(1001) }, /as its stop/],
  [{ choices: [] }, /needs 1 to 1000 different strings that are not empty as its choices/],
  [{ choices: ["a", "a"] }, /different strings/],
  [{ choices: ["a", ""] }, /not empty/],
  [{ choices: "ab" }, /as its choices/],
  [{ choices: ["a".repeat(65_537)] }, /takes choices of up to 65536 characters in all/],
  [{ choices: ["a"], stop: "b" }, /takes choices or stop, not both/],
  [{ choices: ["a"], schema: {} }, /takes choices or a schema, not both/],
  [{ logprobs: 21 }, /needs a whole number from 0 to 20 as its logprobs/],
  [{ logprobs: -1 }, /as its logprobs/],
  [{ parallelToolCalls: 0 }, /needs true or false as its parallelToolCalls/],
  [{ raw: 1 }, /needs true or false as its raw, beside a prompt/],
  [{ ...CHAT, prompt: undefined, raw: true }, /as its raw, beside a prompt/],
  [{ toolChoice: "required" }, /needs tools for the toolChoice "required"/],
  [{ toolChoice: "any" }, /needs "auto", "none", "required" or \{ name \} as its toolChoice/],
  [{ toolChoice: { name: "g" } }, /needs a tool named "g" for its toolChoice/],
  [
    { ...CHAT, prompt: undefined, toolChoice: { name: "g" } },
    /named "g" for its toolChoice: it has f/,
  ],
  [
    { ...CHAT, prompt: undefined, toolChoice: "required", schema: {} },
    /takes a schema or a toolChoice that needs a call/,
  ],
])("what an answer cannot be is refused: %j", async (more, message) => {
  const request = { prompt: "x", ...more } as InferRequest;
  await expect(checkRequest(request)).rejects.toMatchObject({ code: "REQUEST_INVALID" });
  await expect(checkRequest(request)).rejects.toThrow(message);
});
