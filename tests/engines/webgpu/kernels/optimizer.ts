import { ADAMW, clipScale } from "../../../../engines/training/backend.ts";
import { createArrays, wholeSlice } from "../../../../engines/webgpu/device/array.ts";
import type { Device } from "../../../../engines/webgpu/device/device.ts";
import { SUM_SHARE } from "../../../../engines/webgpu/kernels/optimizer.ts";
import { type TrainedPage, TRAINED_ARRAYS } from "../../../../engines/webgpu/model/tensors.ts";
import { planOptimizer, stepScalars } from "../../../../engines/webgpu/step/optimizer.ts";
import { numbers } from "../../numbers.ts";
import type { Results } from "./operation.ts";
import type { Change } from "./shuffled.ts";

/** Words of pages: less than a workgroup, more, and more than a share of the sums. */
const PAGES = [1, 63, 257, SUM_SHARE + 1];
const [STEP, RATE, WEIGHT_DECAY, MAX_NORM] = [3, 0.1, 0.5, 1];

const isDecayed = (page: number) => page % 2 === 1;
/** A page's numbers, and some more that nothing may change; second moments aren't negative. */
const dataOf = (page: number, array: number) =>
  numbers(PAGES[page]! + 3, 10 * page + array).map(array === 3 ? Math.abs : Number);
const gradientsOf = (page: number) => dataOf(page, 1).subarray(0, PAGES[page]);
const NORM = Math.sqrt(
  PAGES.flatMap((_, page) => [...gradientsOf(page)]).reduce((sum, value) => sum + value * value, 0),
);

/** The gradients' norm, and a step of AdamW with clipping. */
export const OPTIMIZER = {
  name: `norm, clipping and AdamW of ${PAGES.join()} numbers`,

  async found(device: Device, change: Change): Promise<Results> {
    const arrays = createArrays();
    const pages = PAGES.map((words, page) => {
      const made = TRAINED_ARRAYS.map((name) => [name, arrays.add("weights", words + 3)]);
      return { ...Object.fromEntries(made), words, decays: isDecayed(page) } as TrainedPage;
    });
    const options = { weightDecay: WEIGHT_DECAY, maxGradNorm: MAX_NORM };
    const plan = planOptimizer(arrays, pages, options);
    await device.allocate(arrays.arrays);
    pages.forEach((page, i) =>
      TRAINED_ARRAYS.forEach((name, array) => device.write(page[name], 0, dataOf(i, array))),
    );
    device.write(plan.scalars, 1, stepScalars(STEP, RATE));
    device.setBatch({ tokens: 0, selected: 0, distinct: 0 });
    device.run([...plan.clip, ...plan.update].map(change));
    const written = pages.flatMap((page) => TRAINED_ARRAYS.map((name) => page[name]));
    const read = await device.read([plan.scalars, ...written].map(wholeSlice));
    return Object.fromEntries(read.map((values, i) => [`array ${i}`, values]));
  },

  wanted(): Results {
    const { beta1, beta2, epsilon } = ADAMW;
    const scalars = [clipScale(NORM, MAX_NORM), RATE, 1 - beta1 ** STEP, 1 - beta2 ** STEP, NORM];
    const updated = PAGES.flatMap((_, page) => {
      const [weights, gradients, first, second] = TRAINED_ARRAYS.map((_, array) =>
        Array.from(dataOf(page, array)),
      ) as [number[], number[], number[], number[]];
      gradientsOf(page).forEach((gradient, i) => {
        const g = clipScale(NORM, MAX_NORM) * gradient;
        first[i] = beta1 * first[i]! + (1 - beta1) * g;
        second[i] = beta2 * second[i]! + (1 - beta2) * g * g;
        const m = first[i] / (1 - beta1 ** STEP);
        const v = second[i] / (1 - beta2 ** STEP);
        weights[i]! *= 1 - (isDecayed(page) ? RATE * WEIGHT_DECAY : 0);
        weights[i]! -= (RATE * m) / (Math.sqrt(v) + epsilon);
      });
      return [weights, gradients, first, second];
    });
    return Object.fromEntries([scalars, ...updated].map((values, i) => [`array ${i}`, values]));
  },
};
