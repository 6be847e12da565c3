import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openModel } from "../../../../engines/checkpoint/savedModel.ts";
import { adapterShapes } from "../../../../engines/lora/adapter.ts";
import { writeSafetensors } from "../../../../engines/modelFiles/safetensors.ts";
import type { Weights } from "../../../../engines/modelFiles/weights.ts";
import { difference } from "../kernels/team.ts";
import { learnerOf, logitsOf } from "../learner.ts";
import { scratchDirectory } from "../scratch.ts";

/** The output of `reference/families.py`. */
interface Family {
  /** `config.json` as transformers 5 wrote it. */
  config: { vocab_size: number; model_type: string };
  tensors: Record<string, number[]>;
  /** Logits of the first row's tokens. */
  logits: number[][];
  /** Losses of 20 steps with an adapter on some projections, or all. */
  losses: Record<"some" | "all", number[]>;
}

const FAMILIES = JSON.parse(
  readFileSync(new URL("./reference/families.json", import.meta.url), "utf8"),
) as Record<string, Family>;
const [ROWS, LENGTH] = [2, 12];
const TARGETS = {
  some: ["q_proj", "v_proj"],
  all: ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
};

/** Multiples of 1/64 that the name decides, as `families.py` makes them. */
function numbers(name: string, count: number): Float32Array<ArrayBuffer> {
  let state = 0x811c9dc5;
  for (const byte of Buffer.from(name)) state = Math.imul(state ^ byte, 0x01000193);
  return Float32Array.from({ length: count }, (_, i) => {
    let x = (state + Math.imul(i, 0x9e3779b9)) | 0;
    for (const factor of [0x85ebca6b, 0xc2b2ae35]) x = Math.imul(x ^ (x >>> 15), factor);
    return (((x ^ (x >>> 16)) >>> 0) % 127) / 64 - 63 / 64;
  });
}

function weightsOf(shapes: Record<string, number[]>): Weights {
  const scaled = (name: string, shape: number[]) => {
    const values = numbers(
      name,
      shape.reduce((a, b) => a * b),
    );
    if (name.includes("norm")) return values.map((value) => 1 + value / 4);
    if (name.includes("lora")) return values.map((value) => value / 8);
    return shape.length > 1 ? values.map((value) => value / 2) : values;
  };
  return Object.fromEntries(
    Object.entries(shapes).map(([name, shape]) => [name, { shape, data: scaled(name, shape) }]),
  );
}

function savedModel({ config, tensors }: Family) {
  const path = join(scratchDirectory(), "model");
  mkdirSync(path);
  writeFileSync(join(path, "config.json"), JSON.stringify(config));
  writeFileSync(
    join(path, "model.safetensors"),
    Buffer.concat(writeSafetensors(weightsOf(tensors))),
  );
  const { shape, weights } = openModel(path);
  return { shape, weights: weights.read() };
}

function tokensOf({ config }: Family): number[][] {
  const values = numbers("tokens", ROWS * (LENGTH + 1));
  const ids = Array.from(values, (value) => ((value + 1) * 64) % config.vocab_size);
  return Array.from({ length: ROWS }, (_, row) =>
    ids.slice(row * (LENGTH + 1), (row + 1) * (LENGTH + 1)),
  );
}

/** PyTorch's logits in float32 differ from those in float64 as much: of SmolLM3 by 6e-6, of Gemma 3 by 3e-5. */
const LIMITS: Record<string, number> = { smollm3: 2e-5, gemma3_text: 4e-5 };
const limitOf = ({ config }: Family) => LIMITS[config.model_type] ?? 5e-6;

test.each(Object.entries(FAMILIES))("the logits of %s are transformers'", (_, family) => {
  const { shape, weights } = savedModel(family);
  const [row = []] = tokensOf(family);
  const logits = logitsOf(weights, row.slice(0, -1), shape);
  expect(difference(logits.flat(), family.logits.flat())).toBeLessThan(limitOf(family));
});

test.each(Object.entries(FAMILIES))("20 steps of an adapter of %s are PEFT's", (_, family) => {
  const { shape, weights } = savedModel(family);
  const rows = tokensOf(family);
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
