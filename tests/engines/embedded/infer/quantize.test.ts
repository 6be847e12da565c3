import { join } from "node:path";
import { expect, test } from "vitest";
import { adapterFiles, saveModel } from "../../../../engines/checkpoint/checkpoint.ts";
import { writeDirectory } from "../../../../engines/checkpoint/directory.ts";
import { dimensionsOf } from "../../../../engines/families/dimensions.ts";
import { randomAdapter } from "../../../../engines/lora/adapter.ts";
import { QUANTIZED_TYPES } from "../../../../protocol/exportFormat.ts";
import { loadModel } from "../../../../sdk/models/load.ts";
import { createEmbeddedEngine } from "../built.ts";
import { numbers } from "../kernels/team.ts";
import { scratchDirectory } from "../scratch.ts";
import { tinyWeights, toBfloat16 } from "../tiny.ts";

/** The rows of most matrices are whole blocks; those of `down_proj`, 44 columns wide, are not. */
const SHAPE = dimensionsOf({ layers: 2, heads: 4, width: 64, intermediateSize: 44, context: 96 });
const LORA = { r: 2, alpha: 4, targetModules: ["q_proj", "down_proj"] };

/** Drawn, so that a small difference shows. */
const REQUEST = { prompt: "a question", maxTokens: 40, temperature: 8, seed: 1 };

/** A model in bfloat16, and an adapter to it that changes much. */
function saved() {
  const folder = scratchDirectory();
  const [base, adapter] = [join(folder, "base"), join(folder, "adapter")];
  const notes = { shape: SHAPE, promptStyle: "message" } as const;
  saveModel(base, toBfloat16(tinyWeights(1, SHAPE)), notes);
  const tensors = randomAdapter(LORA, SHAPE, 1);
  for (const { data } of Object.values(tensors)) data.set(numbers(data.length, 2));
  writeDirectory(adapter, adapterFiles(tensors, { ...notes, lora: LORA, base }));
  return { base, adapter };
}

test("a model and an adapter answer in each type, which is the same text each time", async () => {
  const engine = createEmbeddedEngine();
  for (const directory of Object.values(saved())) {
    const texts: string[] = [];
    for (const quantize of [undefined, ...QUANTIZED_TYPES, ...QUANTIZED_TYPES]) {
      const model = await engine.load(directory, { ...(quantize && { quantize }) });
      texts.push((await model.infer({ ...REQUEST })).text);
      await model.close();
    }
    const [own, q8, q4, mixed, ...again] = texts;
    expect(again).toEqual([q8, q4, mixed]);
    expect(own).not.toBe("");
    expect(q4).not.toBe(own);
  }
});

test("a type that there is not is refused", async () => {
  const options = { quantize: "q5_0" as "q8_0" };
  await expect(loadModel(saved().base, options)).rejects.toMatchObject({
    code: "OPTION_INVALID",
    message: `quantize must be "q8_0" or "q4_0" or "q4_k_m", not 'q5_0'.`,
  });
});
