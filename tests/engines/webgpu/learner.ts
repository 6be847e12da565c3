import type { Sequence } from "../../../engines/examples/examples.ts";
import type { Dimensions } from "../../../engines/families/dimensions.ts";
import { bfloat16Of, inMemoryTensors } from "../../../engines/modelFiles/tensors.ts";
import type { StoredWeights } from "../../../engines/modelFiles/weights.ts";
import { numberOf } from "../../../engines/training/backend.ts";
import { createLearner } from "../../../engines/webgpu/step/learner.ts";
import { planTraining } from "../../../engines/webgpu/step/trainingPlan.ts";
import { type Sizes, initialOf } from "../embedded/learner.ts";
import { testDevice } from "./device.ts";

interface GpuSizes extends Pick<Sizes, "lora" | "adapter" | "recompute"> {
  shape: Dimensions;
  /** Tokens of a micro-batch. */
  tokens: number;
  /** Words of the largest buffer. Default: the device's. */
  maxWords?: number;
}

/** A model in training on the shared device; with `lora`, its adapter. */
export async function gpuLearner(weights: StoredWeights, sizes: GpuSizes) {
  const { lora, tokens, recompute } = sizes;
  const device = await testDevice();
  const plan = planTraining({
    ...{ maxWords: device.maxWords, ...sizes, lora },
    bfloat16: bfloat16Of(inMemoryTensors(weights)),
    limits: { tokens, selected: tokens, longest: tokens },
    options: { weightDecay: 0.01, maxGradNorm: 1 },
    ...(recompute && { recompute }),
  });
  const learner = await createLearner(device, plan, initialOf(weights, sizes));
  /** The mean loss of sequences that each are an example, and the gradients. */
  async function gradients(batch: readonly Sequence[]) {
    const loss = await backpropagate(batch);
    return { loss, gradNorm: await gradNorm(), gradients: await learner.gradients() };
  }
  const gradNorm = async () => numberOf(await learner.gradNorm());
  async function backpropagate(batch: readonly Sequence[]) {
    const count = batch.reduce((sum, { learned }) => learned.reduce((a, b) => a + b, sum), 0);
    const examples = batch.map((one) => ({ sequences: [one] }));
    return numberOf(await learner.backpropagate(examples, 1 / count, false));
  }
  return { learner, plan, gradients, backpropagate, gradNorm };
}
