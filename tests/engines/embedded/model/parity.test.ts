import { expect, test } from "vitest";
import { adapterShapes } from "../../../../engines/lora/adapter.ts";
import { difference } from "../kernels/team.ts";
import { learnerOf, logitsOf } from "../learner.ts";
import { type Family, FAMILIES, savedModel, tokensOf, weightsOf } from "./madeWeights.ts";

const [ROWS, LENGTH] = [2, 12];
const TARGETS = {
  some: ["q_proj", "v_proj"],
  all: ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
};

function rowsOf({ config }: Family): number[][] {
  const ids = tokensOf("tokens", ROWS * (LENGTH + 1), config.vocab_size);
  return Array.from({ length: ROWS }, (_, row) =>
    ids.slice(row * (LENGTH + 1), (row + 1) * (LENGTH + 1)),
  );
}

/** PyTorch's logits in float32 differ from those in float64 as much: of SmolLM3 by 6e-6, of Gemma 3 by 3e-5. */
const LIMITS: Record<string, number> = { smollm3: 2e-5, gemma3_text: 4e-5 };
const limitOf = ({ config }: Family) => LIMITS[config.model_type] ?? 5e-6;

test.each(Object.entries(FAMILIES))("the logits of %s are transformers'", (_, family) => {
  const { shape, weights } = savedModel(family);
  const [row = []] = rowsOf(family);
  const logits = logitsOf(weights, row.slice(0, -1), shape);
  expect(difference(logits.flat(), family.logits.flat())).toBeLessThan(limitOf(family));
});

test.each(Object.entries(FAMILIES))("20 steps of an adapter of %s are PEFT's", (_, family) => {
  const { shape, weights } = savedModel(family);
  const rows = rowsOf(family);
  const batch = rows.map((row) => ({
    tokens: Uint32Array.from(row),
    learned: Uint8Array.from(row, (_, i) => (i > LENGTH / 2 ? 1 : 0)),
  }));
  for (const targets of ["some", "all"] as const) {
    const lora = { r: 2, alpha: 4, targetModules: TARGETS[targets] };
    const adapter = weightsOf(adapterShapes(lora, shape));
    const learner = learnerOf(weights, { rows: ROWS, length: LENGTH, lora, adapter, shape });
    const losses = family.losses[targets].map((_, step) => {
      const { loss } = learner.backpropagate([batch]);
      learner.update(step + 1, 1e-2);
      return loss;
    });
    expect(difference(losses, family.losses[targets]), targets).toBeLessThan(2e-5);
  }
});
