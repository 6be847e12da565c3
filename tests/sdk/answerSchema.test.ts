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
  const constraint = createConstraints(BYTE_TOKENIZER).create({ schema });
  const random = createRandom(seed);
  const bytes: number[] = [];
  for (;;) {
    const mask = constraint.allowed();
    const may = (id: number) => ((mask[id >>> 5]! >>> (id & 31)) & 1) === 1;
    const all = Array.from({ length: 264 }, (_, id) => id).filter(may);
    const leading = all.filter(
      (id) => BYTE_TOKENIZER.isStopToken(id) || '"}]'.includes(String.fromCharCode(id)),
    );
    const some = leading.length > 0 && random.uniform() < 0.3 ? leading : all;
    const token = some[Math.floor(random.uniform() * some.length)]!;
    if (BYTE_TOKENIZER.isStopToken(token)) return JSON.parse(Buffer.from(bytes).toString());
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
      message: expect.stringMatching(/^infer: schema must be a JSON Schema/) as string,
    });
  }
  await expect(asJsonSchema(z.object({ at: z.date() }))).rejects.toThrow(
    /^infer: the schema does not convert to JSON Schema: .* Change that part, or pass a JSON Schema\.$/,
  );
});

const TOOLS = [{ type: "function" as const, function: { name: "f" } }];
const CHAT = { messages: [{ role: "user" as const, content: "x" }], tools: TOOLS };

test.each([
  [{ stop: "" }, /stop must be a string of 1 to 1000 characters, or an array of up to 16/],
  [{ stop: ["a", 1] }, /stop must be/],
  [{ stop: Array.from({ length: 17 }, String) }, /stop must be/],
  [{ stop: "a".repeat(1001) }, /stop must be/],
  [{ choices: [] }, /choices must be 1 to 1000 different strings that are not empty/],
  [{ choices: ["a", "a"] }, /different strings/],
  [{ choices: ["a", ""] }, /not empty/],
  [{ choices: "ab" }, /choices must be/],
  [{ choices: ["a".repeat(65_537)] }, /choices may have up to 65536 characters in all/],
  [{ choices: ["a"], stop: "b" }, /pass choices or stop, not both/],
  [{ choices: ["a"], schema: {} }, /pass choices or a schema, not both/],
  [{ logprobs: 21 }, /logprobs must be a whole number from 0 to 20/],
  [{ logprobs: -1 }, /logprobs must be/],
  [{ parallelToolCalls: 0 }, /parallelToolCalls must be true or false/],
  [{ raw: 1 }, /raw must be true or false, and needs a prompt/],
  [{ ...CHAT, prompt: undefined, raw: true }, /raw must be true or false, and needs a prompt/],
  [{ toolChoice: "required" }, /toolChoice "required" needs tools/],
  [{ toolChoice: "any" }, /toolChoice must be "auto", "none", "required" or \{ name \}/],
  [{ toolChoice: { name: "g" } }, /toolChoice names "g", which is not one of the tools/],
  [
    { ...CHAT, prompt: undefined, toolChoice: { name: "g" } },
    /names "g", which is not one of the tools: f/,
  ],
  [
    { ...CHAT, prompt: undefined, toolChoice: "required", schema: {} },
    /pass a schema or a toolChoice that requires a call/,
  ],
])("what an answer cannot be is refused: %j", async (more, message) => {
  const request = { prompt: "x", ...more } as InferRequest;
  await expect(checkRequest(request)).rejects.toMatchObject({ code: "REQUEST_INVALID" });
  await expect(checkRequest(request)).rejects.toThrow(message);
});
