import { expect, it } from "vitest";
import { didYouMean } from "../../protocol/didYouMean.ts";

const KNOWN = ["maxSteps", "numTrainEpochs", "batchSize", "evalSteps", "lora", "seed", "maxLength"];

it.each([
  ["maxStep", "maxSteps"],
  ["mxaSteps", "maxSteps"],
  ["max_steps", "maxSteps"],
  ["MAXSTEPS", "maxSteps"],
  ["batchsize", "batchSize"],
  ["epochs", "numTrainEpochs"],
  ["per_device_train_batch_size", "batchSize"],
  ["sede", "seed"],
])("%s stands for %s", (written, meant) => {
  expect(didYouMean(written, KNOWN)).toBe(` Did you mean "${meant}"?`);
});

it.each(["steps", "optimizer", "r", "", "toString"])("%s stands for none", (written) => {
  expect(didYouMean(written, KNOWN)).toBe("");
});
