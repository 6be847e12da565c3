import { type Rows } from "../kernels/products.ts";
import { quantizedInputBytes } from "../kernels/quantized.ts";
import type { Activation, Graph, MatrixWeight, Worker } from "./operation.ts";

/**
 * Plans y = added + x·Wᵀ of an answering model, whose matrices lie in panels or are quantized: the same bits for a
 * row alone and among others.
 * @returns what each thread does of it
 */
export function placeAnswerProduct(graph: Graph, x: Activation, w: MatrixWeight) {
  const { at, out, in: width, quantized: type } = w;
  const bytes = type ? quantizedInputBytes(graph.limits[x.rows], x.width) : 0;
  const input = type ? graph.scratch(Math.ceil(bytes / 4)) : 0;
  return ({ kernels, products, batch }: Worker) => {
    const { panels, quantized } = products;
    return function multiply(y: Rows, added = 0): void {
      const rows = batch[x.rows];
      if (!type) {
        kernels.barrier();
        return panels(rows, x, w, y, added);
      }
      const from = quantized.quantize(type, rows, width, x, input);
      quantized.linear(from, { type, at, out, in: width }, y, added);
    };
  };
}
