import { expect, test } from "vitest";
import { answerTokens, createAnswers } from "../../../../engines/answers/answers.ts";
import type * as decoding from "../../../../engines/embedded/infer/decoder.ts";
import type * as scheduling from "../../../../engines/embedded/infer/scheduler.ts";
import type * as modules from "../../../../engines/embedded/kernels/module.ts";
import { dimensionsOf } from "../../../../engines/families/dimensions.ts";
import { inMemoryTensors } from "../../../../engines/modelFiles/tensors.ts";
import { BYTE_TOKENIZER } from "../../../../engines/tokens/byteTokenizer.ts";
import type { InferRequest } from "../../../../protocol/infer.ts";
import { builtModule } from "../built.ts";
import { uncounted } from "../scratch.ts";
import { tinyWeights } from "../tiny.ts";

const { createDecoder } = await builtModule<typeof decoding>("infer/decoder.js");
const { createScheduler } = await builtModule<typeof scheduling>("infer/scheduler.js");
const { compileKernels } = await builtModule<typeof modules>("kernels/module.js");

const SHAPE = dimensionsOf({ layers: 2, heads: 2, width: 16, context: 128 });
const NEVER = { isCancelled: () => false };

/** A random model's scheduler, and what each step of its decoder read. */
function schedulerOf(options: decoding.DecoderOptions = {}, tokenMs = 0) {
  const weights = tinyWeights(3, SHAPE);
  const allowed = answerTokens(BYTE_TOKENIZER);
  const decoder = createDecoder(compileKernels(), SHAPE, inMemoryTensors(weights), {
    allowed: () => allowed,
    ...options,
  });
  const steps: number[][] = [];
  let now = 0;
  const answers = createAnswers({
    context: SHAPE.context,
    promptStyle: "message",
    tokenizer: BYTE_TOKENIZER,
    ...createScheduler(
      {
        ...decoder,
        step(parts) {
          const lengths = parts.map(({ tokens }) => tokens.length);
          steps.push(lengths);
          now += tokenMs * lengths.reduce((a, b) => a + b);
          return decoder.step(parts);
        },
      },
      () => now,
    ),
  });
  return { ...answers, steps };
}

/** Questions of many lengths, some greedy and some drawn. */
const REQUESTS: InferRequest[] = Array.from({ length: 45 }, (_, i) => ({
  prompt: `${i % 3 === 0 ? "the same beginning of a question, " : ""}${"xyz".repeat(i % 7)}${i}`,
  maxTokens: 1 + ((i * 5) % 40),
  temperature: i % 2,
  topP: i % 4 === 1 ? 0.9 : 1,
  seed: i,
}));

async function serializeRequests() {
  const { answer } = schedulerOf();
  const answers = [];
  for (const request of REQUESTS) answers.push(await answer(request, NEVER));
  return answers;
}

test("each of many questions gets the answer that it gets alone, and a step reads for up to 32", async () => {
  const { answer, steps } = schedulerOf();
  const answers = await Promise.all(REQUESTS.map((request) => answer(request, NEVER)));
  expect(answers.map(uncounted)).toEqual((await serializeRequests()).map(uncounted));
  expect(Math.max(...steps.map(({ length }) => length))).toBe(32);
  expect(Math.max(...steps.map((parts) => parts.reduce((a, b) => a + b)))).toBeLessThanOrEqual(256);
});

test("where there is room for one alone, the others read again what they had to give up", async () => {
  const pages = SHAPE.context / 16;
  const { answer } = schedulerOf({ pages });
  const answers = await Promise.all(REQUESTS.map((request) => answer(request, NEVER)));
  expect(answers.map(uncounted)).toEqual((await serializeRequests()).map(uncounted));
});

test("a question that comes while others are answered does not wait for them", async () => {
  const { answer } = schedulerOf();
  const order: string[] = [];
  const long = answer({ prompt: "a", maxTokens: 100, temperature: 5 }, NEVER).then(() =>
    order.push("long"),
  );
  const short = answer({ prompt: "b", maxTokens: 2, temperature: 5 }, NEVER).then(() =>
    order.push("short"),
  );
  await Promise.all([long, short]);
  expect(order).toEqual(["short", "long"]);
});

test.each([
  [4, 70],
  [0.1, 128],
])(
  "a prompt that comes while others are answered is read in parts of 70 ms, at %d ms a token",
  async (tokenMs, longest) => {
    const { answer, steps } = schedulerOf({}, tokenMs);
    const answering = answer({ prompt: "a", maxTokens: 100, temperature: 5 }, NEVER);
    const before = await Promise.race([
      answering,
      answer({ prompt: "b", maxTokens: 30, temperature: 5 }, NEVER),
    ]);
    expect(before.tokens).toBe(30);
    steps.length = 0;
    const { promptTokens } = await answer({ prompt: "c".repeat(100), maxTokens: 1 }, NEVER);
    const reading = steps.filter((parts) => parts.length === 2);
    const ms = reading.map((parts) => tokenMs * (parts[1] ?? 0));
    expect(Math.max(...ms)).toBeLessThanOrEqual(longest);
    expect(reading.length).toBe(Math.ceil(promptTokens / Math.floor(70 / tokenMs)));
    await answering;
  },
);

test("a short prompt does not wait for a long one that came before", async () => {
  const { answer, steps } = schedulerOf();
  const long = answer({ prompt: "a".repeat(120), maxTokens: 1 }, NEVER);
  const short = answer({ prompt: "b", maxTokens: 1 }, NEVER);
  await Promise.all([long, short]);
  expect(steps[0]).toHaveLength(2);
});

test("a cancelled question leaves its place, whether it waits or is answered", async () => {
  const { answer } = schedulerOf();
  let isCancelled = false;
  const cancelled = Array.from({ length: 40 }, (_, i) =>
    answer({ prompt: `${i}`, temperature: 5, seed: i }, { isCancelled: () => isCancelled }).catch(
      String,
    ),
  );
  isCancelled = true;
  const next = answer({ prompt: "b", maxTokens: 2 }, NEVER);
  expect(new Set(await Promise.all(cancelled))).toEqual(new Set(["Error: cancelled"]));
  expect((await next).tokens).toBeLessThanOrEqual(2);
});

test("an answer whose numbers tell nothing is an error of its own", async () => {
  const weights = tinyWeights(3, SHAPE);
  weights["model.norm.weight"]?.data.fill(0);
  const decoder = createDecoder(compileKernels(), SHAPE, inMemoryTensors(weights));
  const { answer } = createAnswers({
    context: SHAPE.context,
    promptStyle: "message",
    tokenizer: BYTE_TOKENIZER,
    ...createScheduler(decoder),
  });
  await expect(answer({ prompt: "a" }, NEVER)).rejects.toMatchObject({
    code: "CHECKPOINT_INVALID",
  });
});

test("what a reader throws ends its own answer, and no other's", async () => {
  const weights = tinyWeights(3, SHAPE);
  const decoder = createDecoder(compileKernels(), SHAPE, inMemoryTensors(weights));
  const { read } = createScheduler(decoder);
  const tokens = [1, 2, 3];
  const reading = { tokens, logitsFrom: 2, isCancelled: () => false };
  let taken = 0;
  const others = Array.from({ length: 3 }, () => read({ ...reading, take: () => ++taken > 0 }));
  const own = read({
    ...reading,
    take: () => true,
    allowed() {
      throw new Error("its schema");
    },
  });
  await expect(own).rejects.toThrow("its schema");
  await Promise.all(others);
  expect(taken).toBe(3);
});

test("an answer goes on while it is worked at what another may have next", async () => {
  const { read } = createScheduler(
    createDecoder(compileKernels(), SHAPE, inMemoryTensors(tinyWeights(3, SHAPE))),
  );
  const order: string[] = [];
  const reading = (name: string, prepare: () => boolean) => {
    const tokens = [1, 2];
    const take = () => {
      order.push(name);
      return tokens.push(3) === 8;
    };
    return read({ tokens, logitsFrom: 1, prepare, take, isCancelled: () => false });
  };
  let left = 20;
  await Promise.all([reading("held", () => left-- <= 0), reading("other", () => true)]);
  expect(order.join(" ")).toBe(`${"other ".repeat(6)}${"held ".repeat(6)}`.trim());
  expect(left).toBeLessThan(0);
});
