import { expect, test } from "vitest";
import { createArrays, wholeSlice } from "../../../engines/webgpu/device/array.ts";
import { THREADS } from "../../../engines/webgpu/device/kernel.ts";
import { NORM } from "../../../engines/webgpu/kernels/optimizer.ts";
import { planOptimizer, stepScalars } from "../../../engines/webgpu/step/optimizer.ts";
import { HAS_WEBGPU, newDevice } from "./device.ts";

/** More workgroups than one dimension of a grid takes, and more bytes than are read at a time. */
const WORDS = 65_535 * THREADS + 300;

test.runIf(HAS_WEBGPU)("updates and reads as many numbers as a real model has", async () => {
  const device = await newDevice();
  const arrays = createArrays();
  const add = () => arrays.add("weights", WORDS);
  const moments = { firstMoments: add(), secondMoments: add() };
  const page = { words: WORDS, decays: false, weights: add(), gradients: add(), ...moments };
  const plan = planOptimizer(arrays, [page], { weightDecay: 0, maxGradNorm: 1 });
  await device.allocate(arrays.arrays);
  const gradients = Float32Array.from({ length: WORDS }, (_, i) => (i % 7) - 3);
  device.write(page.gradients, 0, gradients);
  device.write(plan.scalars, 1, stepScalars(1, 1));
  device.setBatch({ tokens: 0, selected: 0, distinct: 0 });
  device.run([...plan.clip, ...plan.update]);
  const [weights, scalars] = await device.read([page.weights, plan.scalars].map(wholeSlice));
  device.destroy();
  // AdamW's first step is the learning rate, against the gradient's sign.
  const wrong = weights!.findIndex(
    (weight, i) => Math.abs(weight + Math.sign(gradients[i]!)) > 1e-3,
  );
  expect(wrong).toBe(-1);
  const norm = Math.sqrt(gradients.reduce((sum, gradient) => sum + gradient ** 2, 0));
  expect(scalars![NORM]! / norm).toBeCloseTo(1, 6);
});
