import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { adapterFiles, saveModel } from "../../../engines/checkpoint/checkpoint.ts";
import { writeDirectory } from "../../../engines/checkpoint/directory.ts";
import { createRandom } from "../../../engines/dataset/random.ts";
import { exportModel } from "../../../engines/export/exportModel.ts";
import type { Dimensions } from "../../../engines/families/dimensions.ts";
import { PROJECTIONS } from "../../../engines/families/projections.ts";
import { randomAdapter } from "../../../engines/lora/adapter.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { tinyWeights } from "../embedded/tiny.ts";
import { FAMILIES } from "./families.ts";
import { kitLogits, likeliest } from "./kitLogits.ts";
import { askLlama, hasLlama } from "./llama.ts";

const LENGTH = 40;
/** llama.cpp keeps keys and values in float16. */
const NEAR = 0.05;

const random = createRandom(1, "tokens");
const TOKENS = Array.from({ length: LENGTH }, () => Math.floor(random.uniform() * 262));

function save(shape: Dimensions) {
  const directory = scratchDirectory();
  const [base, to] = [join(directory, "base"), join(directory, "gguf")];
  const weights = tinyWeights(1, shape);
  for (const [name, { data }] of Object.entries(weights)) {
    // Larger ones would decide every choice.
    if (name.endsWith(".bias")) data.forEach((_, i) => (data[i] = Math.sin(i) / 4));
  }
  saveModel(base, weights, { shape, promptStyle: "message" });
  return { directory, base, to };
}

/** Every choice that is not a near tie is the same. */
function expectSame(theirs: number[][], ours: number[][]): void {
  let decided = 0;
  for (const [i, logits] of ours.entries()) {
    const { token, ahead } = likeliest(logits);
    if (ahead <= NEAR) continue;
    decided++;
    expect(likeliest(theirs[i]!).token, `after ${i + 1} tokens`).toBe(token);
  }
  expect(decided).toBeGreaterThan(LENGTH / 2);
}

describe.runIf(hasLlama)("in llama.cpp", () => {
  test.each(Object.entries(FAMILIES))(
    "a GGUF file of %s chooses Kit's tokens",
    async (_, shape) => {
      const { base, to } = save(shape);
      const { path } = await exportModel(base, to, { format: "gguf" });
      const { logits } = await askLlama({ file: path, sequences: [TOKENS] });
      expectSame(logits[0]!, kitLogits(base, TOKENS));
      expectSame(logits[0]!, kitLogits(path, TOKENS));
    },
  );

  test.each([
    ["LoRA", {}],
    ["rank-stabilized LoRA", { use_rslora: true }],
  ])("an adapter of %s beside its base chooses what Kit's merge does", async (_, setting) => {
    const shape = FAMILIES["Llama with a head of its own"]!;
    const { directory, base, to } = save(shape);
    const lora = { r: 3, alpha: 6, targetModules: [...PROJECTIONS] };
    const tensors = randomAdapter(lora, shape, 1);
    for (const { data } of Object.values(tensors))
      data.forEach((_, i) => (data[i] = Math.sin(i) / 8));
    const adapter = join(directory, "step-1");
    writeDirectory(adapter, adapterFiles(tensors, { shape, promptStyle: "message", lora, base }));

    const config = join(adapter, "adapter_config.json");
    const settings = JSON.parse(readFileSync(config, "utf8")) as object;
    writeFileSync(config, JSON.stringify({ ...settings, ...setting }));

    const whole = await exportModel(base, to, { format: "gguf" });
    const alone = await exportModel(adapter, `${to}-lora`, { format: "gguf", adapterOnly: true });
    const told = await askLlama({ file: whole.path, lora: alone.path, sequences: [TOKENS] });
    const [merged, before] = [kitLogits(adapter, TOKENS), kitLogits(base, TOKENS)];
    expectSame(told.logits[0]!, merged);
    expect(merged.map((logits) => likeliest(logits).token)).not.toEqual(
      before.map((logits) => likeliest(logits).token),
    );
  });
});
