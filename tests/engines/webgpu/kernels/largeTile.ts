import { createArrays, wholeSlice } from "../../../../engines/webgpu/device/array.ts";
import type { Device } from "../../../../engines/webgpu/device/device.ts";
import { dispatch } from "../../../../engines/webgpu/device/dispatch.ts";
import { matmul } from "../../../../engines/webgpu/kernels/matmul.ts";
import { numbers } from "../../numbers.ts";
import type { Results } from "./operation.ts";
import type { Change } from "./shuffled.ts";

/** More than a tile of 128 × 128, which operations use only where there are hundreds. */
const [M, N, DEPTHS] = [132, 136, [40, 23]];

/** A product by the largest tile, in the layout of y = x·Wᵀ or of dW = dyᵀ·x. */
function largeTile(K: number, isForward: boolean) {
  const a = numbers(M * K, 1);
  const b = numbers(N * K, 2);
  const [aRow, aColumn, wRow, wColumn] = isForward ? [K, 1, 1, K] : [1, M, N, 1];
  return {
    name: `${M} × ${N} × ${K} by a large tile, ${isForward ? "x·Wᵀ" : "dyᵀ·x"}`,

    async found(device: Device, change: Change): Promise<Results> {
      const arrays = createArrays();
      const left = arrays.add("activations", M * K);
      const right = arrays.add("activations", N * K);
      const result = arrays.add("activations", M * N);
      await device.allocate(arrays.arrays);
      device.write(left, 0, a);
      device.write(right, 0, b);
      const kernel = matmul({
        tile: [128, 128],
        isAByRow: isForward,
        isBByColumn: isForward,
        type: "f32",
        isAligned: !isForward || K % 4 === 0,
      });
      const sizes = {
        M,
        N,
        K,
        kind: 0,
        first: 0,
        limit: 0,
        splits: 1,
        scales: 0,
        adds: 0,
        alpha: 2,
      };
      const strides = { aFrom: 0, aRow, aColumn, wFrom: 0, wRow, wColumn, cFrom: 0, cRow: N };
      const [x, w] = [wholeSlice(left), wholeSlice(right)];
      const slices = { a: x, w, added: x, c: wholeSlice(result) };
      device.setBatch({ tokens: 0, selected: 0, sequences: 0, distinct: 0 });
      device.run([change(dispatch(kernel, { ...sizes, ...strides }, slices, () => [2, 2, 1]))]);
      const [c] = await device.read([wholeSlice(result)]);
      return { c: c! };
    },

    wanted(): Results {
      const sum = (m: number, n: number) => {
        let total = 0;
        for (let k = 0; k < K; k++)
          total += a[m * aRow + k * aColumn]! * b[k * wRow + n * wColumn]!;
        return total;
      };
      return { c: Array.from({ length: M * N }, (_, i) => 2 * sum(Math.floor(i / N), i % N)) };
    },
  };
}

export const LARGE_TILES = DEPTHS.flatMap((K) => [largeTile(K, true), largeTile(K, false)]);
