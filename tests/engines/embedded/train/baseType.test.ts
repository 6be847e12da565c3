import { expect, test } from "vitest";
import { planFor } from "../../../../engines/embedded/train/backend.ts";
import { createExamples } from "../../../../engines/examples/examples.ts";
import { dimensionsOf } from "../../../../engines/families/dimensions.ts";
import { PROJECTIONS } from "../../../../engines/families/projections.ts";
import { weightShapes } from "../../../../engines/families/tensorShapes.ts";
import { sft } from "../../../../engines/objectives/sft.ts";
import type { LoraConfig } from "../../../../protocol/trainConfig.ts";
import { CONFIG } from "../../../jobs.ts";

/** As Qwen3-1.7B. */
const SHAPE = dimensionsOf({
  layers: 28,
  heads: 16,
  kvHeads: 8,
  headDim: 128,
  width: 2048,
  intermediateSize: 6144,
  vocabulary: 151_936,
  context: 40_960,
  family: "qwen3" as const,
});
const LORA: LoraConfig = { r: 16, alpha: 32, targetModules: [...PROJECTIONS] };
const GIB = 2 ** 30;

/** The plan for a bfloat16 base and rows of so many tokens, with its notes. */
function planned(rows: number, length: number, lora = LORA) {
  const examples = createExamples(SHAPE.vocabulary);
  for (let row = 0; row < rows; row++) {
    const tokens = new Uint32Array(length + 1).fill(1);
    examples.addTruncated([[{ tokens, isLearned: true }]], Infinity);
  }
  const notes: string[] = [];
  const preparation = {
    config: { ...CONFIG, lora, batchSize: rows },
    start: { shape: SHAPE, bfloat16: new Set(Object.keys(weightShapes(SHAPE))) },
    objective: sft,
    maxLength: length,
    data: { training: { examples } },
    steps: 1,
  } as unknown as Parameters<typeof planFor>[0];
  const { sizes, arena } = planFor(preparation, 2, (text) => notes.push(text));
  return { baseType: sizes.lora?.baseType, gib: arena.sizes().all / GIB, notes };
}

const NOTE = 'the base does not fit in memory as it was saved; lora.baseType is "q8_0"';

test("a base that fits as it was saved stays so, unless the trainer says otherwise", () => {
  expect(planned(1, 512)).toMatchObject({ baseType: undefined, notes: [] });
  expect(planned(1, 512, { ...LORA, baseType: "q8_0" })).toMatchObject({
    baseType: "q8_0",
    notes: [],
  });
});

test("a base that doesn't fit in 4 GiB becomes q8_0, and a note says so", () => {
  expect(planned(1, 1024)).toMatchObject({ baseType: "q8_0", notes: [NOTE] });
});

test("1.7 billion weights in q8_0 take the memory that docs/models.md says", () => {
  const q8 = { ...LORA, baseType: "q8_0" } as const;
  expect(planned(1, 512, q8).gib).toBeCloseTo(2.29, 2);
  expect(planned(1, 1024, q8).gib).toBeCloseTo(2.59, 2);
});
