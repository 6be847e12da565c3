import { describe, expect, test } from "vitest";
import { quantize } from "../../../engines/modelFiles/blocks/blockType.ts";
import { dequantize } from "../../../engines/modelFiles/blocks/blockType.ts";
import { q8_0 } from "../../../engines/modelFiles/blocks/q8_0.ts";
import { inMemoryTensors } from "../../../engines/modelFiles/tensors.ts";
import { toBfloat16, widened } from "../../../engines/modelFiles/weights.ts";
import { createArrays, wholeSlice } from "../../../engines/webgpu/device/array.ts";
import type { StoredType } from "../../../engines/webgpu/kernels/stored.ts";
import { createTensors } from "../../../engines/webgpu/model/tensors.ts";
import { writeFrozen } from "../../../engines/webgpu/model/writeTensors.ts";
import { linear, linearBack, rowsOf } from "../../../engines/webgpu/ops/matmuls.ts";
import { difference, numbers } from "../embedded/kernels/team.ts";
import { HAS_WEBGPU, testDevice } from "./device.ts";

const LORA = { r: 1, alpha: 1, targetModules: [] };

/** The weights as a type stores them. */
function rounded(data: Float32Array, type: StoredType): Float32Array {
  if (type === "bf16") return widened(toBfloat16(data));
  return type === "f32" ? data : dequantize(q8_0, quantize(q8_0, data));
}

describe.runIf(HAS_WEBGPU)("products of x [rows, in] and W [out, in]", () => {
  test.each([
    [1, 1, 1, "f32"],
    [67, 70, 19, "f32"],
    [300, 5, 33, "f32"],
    [65, 129, 130, "bf16"],
    [3, 17, 2, "bf16"],
    [70, 66, 96, "q8_0"],
  ] as const)("%d × %d × %d in %s are those of plain loops", async (rows, out, inner, type) => {
    const device = await testDevice();
    const arrays = createArrays();
    const data = numbers(out * inner, 1);
    const name = "w";
    const { matrix, plan } = createTensors(arrays, {
      bfloat16: new Set(type === "bf16" ? [name] : []),
      lora: LORA,
      typeOf: () => type,
      // Several parts of rows.
      maxWords: Math.max(2, Math.ceil(out / 3)) * inner,
    });
    const weight = matrix({ [name]: out }, inner);
    const array = (count: number) => arrays.add("activations", count);
    const [x, y, added, dx] = [rows * inner, rows * (out + 3), rows * (out + 3), rows * inner].map(
      array,
    );
    const range = { kind: "selected", first: 1, limit: rows } as const;
    await device.allocate(arrays.arrays);
    const stored = type === "bf16" ? toBfloat16(data) : data;
    await writeFrozen(
      device,
      plan,
      inMemoryTensors({ [name]: { shape: [out, inner], data: stored } }),
    );
    const [xs, before] = [numbers(rows * inner, 2), numbers(rows * (out + 3), 3)];
    device.write(x!, 0, xs);
    for (const one of [y!, added!]) device.write(one, 0, before);
    device.setBatch({ tokens: 0, selected: rows + 9, sequences: 0, distinct: 0 });
    const columns = rowsOf(y!, out + 3, 2);
    device.run([
      ...linear(range, rowsOf(x!, inner), weight, columns, { adds: added!, alpha: 0.5 }),
      ...linear(range, rowsOf(x!, inner), weight, columns, { adds: "itself", alpha: 0.25 }),
      ...linearBack(range, rowsOf(y!, out + 3, 2), weight, rowsOf(dx!, inner)),
    ]);
    const [ys, dxs] = await device.read([wholeSlice(y!), wholeSlice(dx!)]);

    const w = rounded(data, type);
    const wanted = before.slice();
    const back = new Float32Array(rows * inner);
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < out; j++) {
        let sum = 0;
        for (let k = 0; k < inner; k++) sum += xs[i * inner + k]! * w[j * inner + k]!;
        wanted[i * (out + 3) + 2 + j]! += 0.75 * sum;
        const dy = ys![i * (out + 3) + 2 + j]!;
        for (let k = 0; k < inner; k++) back[i * inner + k]! += dy * w[j * inner + k]!;
      }
    }
    expect(difference(ys!, wanted)).toBeLessThan(1e-4);
    expect(difference(dxs!, back)).toBeLessThan(1e-3);
  });
});
