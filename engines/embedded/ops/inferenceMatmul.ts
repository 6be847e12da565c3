import { type Rows, columnsFrom } from "../kernels/matmuls.ts";
import { quantizedInputBytes } from "../kernels/quantized.ts";
import type { Activation, Graph, MatrixWeight, OperationContext } from "./operation.ts";

/**
 * Plans y = addend + x·Wᵀ for inference, with a matrix in panels or quantized. The batch never changes a row's bits.
 * @returns a function that creates a thread's operation; its `addend` is an address, or 0 for none
 */
export function planInferenceMatmul(graph: Graph, x: Activation, w: MatrixWeight) {
  const bytes = w.quantized ? quantizedInputBytes(graph.limits[x.rows], x.width) : 0;
  const input = graph.scratch(Math.ceil(bytes / 4));

  return ({ kernels, matmuls, batch }: OperationContext) => {
    const { panels, quantized } = matmuls;
    return function multiply(y: Rows, addend = 0): void {
      const rows = batch[x.rows];
      if (!w.quantized) {
        kernels.barrier();
        return panels(rows, x, w, y, addend);
      }
      let from = 0;
      for (const range of w.quantized) {
        const to = columnsFrom(y, from);
        quantized.quantize(range.type, rows, x.width, x, input);
        quantized.linear({ at: input, rows }, range, to, addend && addend + from * 4);
        from += range.out;
      }
    };
  };
}
