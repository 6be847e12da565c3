import type { Example } from "../../../../engines/examples/examples.ts";
import { dimensionsOf } from "../../../../engines/families/dimensions.ts";
import { randomWeights } from "../../../../engines/families/randomWeights.ts";
import { inMemoryTensors } from "../../../../engines/modelFiles/tensors.ts";
import { type Backend, type InitialState, numberOf } from "../../../../engines/training/backend.ts";
import type { Preparation } from "../../../../engines/training/preparation.ts";
import type { Device } from "../../../../engines/webgpu/device/device.ts";
import { createLearner } from "../../../../engines/webgpu/step/learner.ts";
import { planTraining } from "../../../../engines/webgpu/step/trainingPlan.ts";
import { numbers } from "../../numbers.ts";
import { plainBackend } from "../../training/plainBackend.ts";
import type { Results } from "./operation.ts";

const SHAPE = dimensionsOf({ layers: 1, heads: 2, width: 8, context: 16 });
const OPTIONS = { weightDecay: 0.1, maxGradNorm: 1 };
const STEPS = 3;

const EXAMPLES = [7, 3].map((length, i): Example => {
  const tokens = Uint16Array.from(numbers(length + 1, i), (value) => (value + 1) * 100);
  return { sequences: [{ tokens, learned: new Uint8Array(length + 1).fill(1, 1) }] };
});

function initial(): InitialState {
  const trainable = randomWeights(SHAPE, 1);
  return { trainable, frozen: inMemoryTensors({}), moments: undefined };
}

async function train(backend: Backend): Promise<Results> {
  const losses: number[] = [];
  const norms: number[] = [];
  for (let step = 1; step <= STEPS; step++) {
    const late = [await backend.backpropagate(EXAMPLES, 0.1, false), await backend.gradNorm()];
    await backend.update(step, 0.01);
    losses.push(await numberOf(late[0]!));
    norms.push(await numberOf(late[1]!));
  }
  const weights = Object.entries(await backend.weights());
  return { losses, norms, ...Object.fromEntries(weights.map(([name, { data }]) => [name, data])) };
}

/** A whole model's training. */
export const TRAINING = {
  name: `${STEPS} steps of a model`,
  async found(device: Device): Promise<Results> {
    const plan = planTraining({
      ...{ shape: SHAPE, lora: undefined, options: OPTIONS, maxWords: device.maxWords },
      limits: { tokens: 10, selected: 10, longest: 7 },
    });
    return train(await createLearner(device, plan, initial()));
  },
  async wanted(): Promise<Results> {
    const preparation = { config: OPTIONS, start: { shape: SHAPE } } as Preparation;
    const plan = await plainBackend(preparation);
    return train(await plan.start(initial()));
  },
};
