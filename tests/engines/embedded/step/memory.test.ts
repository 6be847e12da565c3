import { expect, test, vi } from "vitest";
import type * as decoding from "../../../../engines/embedded/infer/decoder.ts";
import type * as arenas from "../../../../engines/embedded/kernels/arena.ts";
import type * as modules from "../../../../engines/embedded/kernels/module.ts";
import type * as planning from "../../../../engines/embedded/step/trainingPlan.ts";
import { type Dimensions, dimensionsOf } from "../../../../engines/families/dimensions.ts";
import type { TensorSource } from "../../../../engines/modelFiles/tensors.ts";
import type { LoraConfig } from "../../../../protocol/trainConfig.ts";
import { builtModule } from "../built.ts";
import { limitsOf } from "../learner.ts";
import { TINY } from "../tiny.ts";

const { GUARD_BYTES } = await builtModule<typeof arenas>("kernels/arena.js");
const { createDecoder } = await builtModule<typeof decoding>("infer/decoder.js");
const { compileKernels } = await builtModule<typeof modules>("kernels/module.js");
const { planTraining } = await builtModule<typeof planning>("step/trainingPlan.js");

const OPTIONS = { weightDecay: 0.01, maxGradNorm: 1 };
const LORA: LoraConfig = { r: 3, alpha: 6, targetModules: ["q_proj", "v_proj", "down_proj"] };
const [ROWS, LENGTH] = [3, 7];

function planOf(shape: Dimensions, rows: number, length: number, lora?: LoraConfig) {
  const limits = limitsOf({ rows, length });
  return planTraining({ shape, limits, lora, threads: 1, options: OPTIONS });
}

test("a guard lies between any two arrays", () => {
  const regions = planOf(TINY, ROWS, LENGTH).arena.regions;
  regions.slice(1).forEach(({ address }, i) => {
    const before = regions[i];
    expect(address - (before?.address ?? 0) - (before?.bytes ?? 0)).toBeGreaterThanOrEqual(
      GUARD_BYTES,
    );
  });
});

/** GPT-2's small model has such sizes. */
const LARGE = dimensionsOf({ layers: 12, heads: 12, width: 768, context: 2048 });

/** The sentence for a model that needs so much more than there is. */
function tooLarge(parts: string, advice: string): RegExp {
  return new RegExp(
    `^The model needs \\d\\S* GiB of memory \\(${parts}\\), but WebAssembly has only 4\\. ${advice}\\.$`,
  );
}

const ADVICE = "Lower maxLength or the model's size, or use engine: python\\(\\)";

test("a training that does not fit in 4 GiB fails with the sizes and what to lower", () => {
  expect(() => planOf(LARGE, 16, 2048)).toThrow(
    tooLarge(
      "weights 0\\.32, gradients 0\\.32, moments 0\\.63, activations \\d+\\.\\d\\d, work 0\\.00",
      ADVICE,
    ),
  );
  expect(planOf(LARGE, 1, 256).arena.sizes().all).toBeLessThan(2 ** 32);
});

test("an adapter's training that does not fit in 4 GiB fails with the sizes and what to lower", () => {
  expect(() => planOf(LARGE, 16, 2048, LORA)).toThrow(
    tooLarge(
      "weights 0\\.32, gradients 0\\.00, moments 0\\.00, activations \\d+\\.\\d\\d, work 0\\.00",
      ADVICE,
    ),
  );
});

test("a model that is too large to answer with fails before its weights are read, or its vocabulary", () => {
  const rows = vi.fn<TensorSource["rows"]>();
  const allowed = vi.fn<() => Int32Array>();
  const [shape, source] = [
    { ...LARGE, context: 1e6 },
    { tensors: new Map(), rows },
  ];
  expect(() => createDecoder(compileKernels(), shape, source, { allowed })).toThrow(
    tooLarge(
      "weights 0\\.32, activations \\d+\\.\\d\\d, work 0\\.25",
      'Use a smaller model, or quantize: "q8_0"',
    ),
  );
  expect(rows).not.toHaveBeenCalled();
  expect(allowed).not.toHaveBeenCalled();
});

test("the logits of a large vocabulary take 64 MiB, however many tokens are learned", () => {
  const [small, large] = [1_000, 262_144].map((vocabulary) => {
    const plan = planOf({ ...TINY, vocabulary }, 8, 512, LORA);
    return plan.arena.sizes().activations;
  });
  expect(large! - small!).toBeLessThan(2 ** 26);
});

test("activations are computed again as far as the memory would be more than moderate", () => {
  const of = (rows: number) => planOf(LARGE, rows, 2048, LORA);
  const recomputed = (plan: planning.TrainingPlan) => plan.sizes.recompute;
  expect(recomputed(planOf(TINY, ROWS, LENGTH))).toEqual({ cheap: false, segments: 0 });
  expect(recomputed(planOf(LARGE, 1, 256, LORA))).toEqual({ cheap: true, segments: 0 });
  const plan = of(1);
  expect(recomputed(plan)?.segments).toBeGreaterThan(0);
  expect(recomputed(plan)?.segments).toBeLessThan(2 * LARGE.layers);
  expect(plan.arena.sizes().all).toBeLessThan(1.2 * 2 ** 30);
  const layers = { cheap: true, segments: LARGE.layers, isPerLayer: true };
  expect(recomputed(of(3))).toEqual(layers);
  const halves = { cheap: true, segments: 2 * LARGE.layers };
  const [least, more] = [layers, halves].map((recompute) => {
    const sizes = { shape: LARGE, lora: LORA, threads: 1, options: OPTIONS, recompute };
    return planTraining({ ...sizes, limits: limitsOf({ rows: 1, length: 2048 }) });
  });
  // Of each layer but one, whose room all share, one input less.
  const input = 2048 * LARGE.width * 4;
  const saved = more!.arena.sizes().activations - least!.arena.sizes().activations;
  expect(saved / input).toBeGreaterThan(LARGE.layers - 4);
  expect(() => of(16)).toThrow(tooLarge(".*", ADVICE));
});
