import { expect, test } from "vitest";
import { createRandom } from "../../../../engines/dataset/random.ts";
import type * as decoding from "../../../../engines/embedded/infer/decoder.ts";
import { planDecoder } from "../../../../engines/embedded/infer/decoderPlan.ts";
import type * as arenas from "../../../../engines/embedded/kernels/arena.ts";
import type * as modules from "../../../../engines/embedded/kernels/module.ts";
import type * as learning from "../../../../engines/embedded/step/learner.ts";
import { type Dimensions, dimensionsOf } from "../../../../engines/families/dimensions.ts";
import { randomAdapter } from "../../../../engines/lora/adapter.ts";
import { inMemoryTensors } from "../../../../engines/modelFiles/tensors.ts";
import type { LoraConfig } from "../../../../protocol/trainConfig.ts";
import { builtModule } from "../built.ts";
import { initialOf, inviting, ofSequences, planOf, readingBy } from "../learner.ts";
import {
  FAMILIES,
  TINY,
  tinyBatch,
  tinySequences,
  tinyTokens,
  tinyWeights,
  toBfloat16,
} from "../tiny.ts";

const { GUARD_BYTES } = await builtModule<typeof arenas>("kernels/arena.js");
const { createDecoder } = await builtModule<typeof decoding>("infer/decoder.js");
const { compileKernels } = await builtModule<typeof modules>("kernels/module.js");
const { createLearner } = await builtModule<typeof learning>("step/learner.js");

const GUARD = 0x5aa5c33c;
const WORDS = GUARD_BYTES / 4;
const LORA: LoraConfig = { r: 3, alpha: 6, targetModules: ["q_proj", "v_proj", "down_proj"] };
const [ROWS, LENGTH] = [3, 7];

/** Writes guard words around all arrays. @returns counts those that were written over */
function guarded({ regions }: arenas.Arena, buffer: ArrayBufferLike): () => number {
  const guards = regions.flatMap(({ address, bytes }) => {
    const end = Math.ceil((address + bytes) / 4) * 4;
    const before = new Int32Array(buffer, address - GUARD_BYTES, WORDS);
    return [before, new Int32Array(buffer, end, WORDS - 1)];
  });
  expect(guards.length).toBeGreaterThan(50);
  for (const words of guards) words.fill(GUARD);
  return () => guards.filter((words) => words.some((word) => word !== GUARD)).length;
}

/** Takes steps, and counts the arrays whose guard words were written over. */
async function overwritten(
  shape: Dimensions,
  rows: number,
  length: number,
  lora: LoraConfig | undefined,
  threads = 1,
) {
  const stored = toBfloat16(tinyWeights(1, shape));
  const plan = planOf(stored, { shape, rows, length, ...(lora && { lora }) }, threads);
  const adapter = lora && randomAdapter(lora, shape, 1);
  const invited = inviting(plan);
  const initial = initialOf(stored, adapter ? { adapter } : {});
  const learner = ofSequences(createLearner(plan, initial, invited));
  const { buffer } = await invited.allHere();
  const size = buffer.byteLength;
  const broken = guarded(plan.arena, buffer);
  const batches = [tinyBatch(rows, length), tinyBatch(rows, length)];
  for (let step = 1; step <= 3; step++) {
    learner.backpropagate(batches);
    learner.update(step, 1e-2);
  }
  learner.measure(tinySequences([length, 1, Math.ceil(length / 2)].slice(0, rows)));
  // No step allocates: the memory is as large as it was.
  expect(buffer.byteLength).toBe(size);
  return broken();
}

test.each([undefined, LORA])(
  "a step writes to no place outside of its arrays, with the adapter %j",
  async (lora) => {
    for (const threads of [1, 2])
      expect(await overwritten(TINY, ROWS, LENGTH, lora, threads)).toBe(0);
  },
);

test.each(Object.values(FAMILIES))(
  "a step of another model family writes to no place outside of its arrays: %j",
  async (shape) => {
    for (const [lora, threads] of [
      [undefined, 1],
      [LORA, 2],
    ] as const)
      expect(await overwritten(shape, ROWS, LENGTH, lora, threads)).toBe(0);
  },
);

test("a step with a base in q8_0 writes to no place outside of its arrays", async () => {
  // Rows of whole blocks, and of down_proj's 44 columns.
  const shape = dimensionsOf({ layers: 1, heads: 4, width: 64, intermediateSize: 44, context: 48 });
  for (const threads of [1, 2])
    expect(await overwritten(shape, ROWS, LENGTH, { ...LORA, baseType: "q8_0" }, threads)).toBe(0);
});

test("a step of each of twenty random shapes writes to no place outside of its arrays", async () => {
  const random = createRandom(1, "shapes");
  const upTo = (most: number) => 1 + Math.floor(random.uniform() * most);
  for (let i = 0; i < 20; i++) {
    const heads = upTo(4);
    const shape = { layers: upTo(3), heads, width: 2 * heads * upTo(9), context: 64 };
    const tied = i % 2 === 0;
    const lora = i % 3 === 0 ? { ...LORA, r: upTo(9) } : undefined;
    const [rows, length] = [upTo(5), upTo(40)];
    const found = await overwritten(dimensionsOf({ ...shape, tied }), rows, length, lora);
    expect(found, JSON.stringify([shape, rows, length, lora])).toBe(0);
  }
});

test.each([TINY, ...Object.values(FAMILIES)])(
  "reading a prompt and an answer writes to no place outside of the decoder's arrays: %j",
  (family) => {
    // Longer than what is read at a time.
    const shape = { ...family, context: 80 };
    const stored = toBfloat16(tinyWeights(1, shape));
    const bfloat16 = new Set(Object.keys(stored));
    let buffer: ArrayBufferLike | undefined;
    const decoder = createDecoder(compileKernels(), shape, inMemoryTensors(stored), {
      initWorkers: ({ memory }) => (buffer = memory.buffer),
    });
    if (!buffer) throw new Error("nobody was invited");
    const broken = guarded(planDecoder({ shape, bfloat16 }).arena, buffer);
    const { read } = readingBy(decoder);
    const tokens = tinyTokens(shape.context);
    read(tokens.subarray(0, shape.context - 3));
    for (const token of tokens.subarray(shape.context - 3)) read([token]);
    expect(broken()).toBe(0);
  },
);
