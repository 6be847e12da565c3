import type { Activation, Graph } from "./operation.ts";

interface Table {
  vocabulary: number;
  width: number;
  factor: number;
  /** Whether the head shares the table; then the head's backward pass has already written the table's gradient. */
  isTied: boolean;
}

/** x[t, :] = factor · table[tokens[t], :]. */
export function embedding(
  graph: Graph,
  table: string,
  { vocabulary, width, factor, isTied }: Table,
): Activation {
  const weight = graph.matrix({ [table]: vocabulary }, width);
  const x = graph.activation("tokens", width, { isResidual: true });
  const { tokens } = graph.batch;
  const isScaled = factor !== 1;
  graph.add(({ kernels, matmuls, batch }) => ({
    forward() {
      const args = [batch.tokens, width, tokens, weight.at, weight.isBf16 ?? false, x.at] as const;
      const [quantized] = weight.quantized ?? [];
      kernels.barrier();
      if (quantized) matmuls.quantized.embed(batch.tokens, tokens, quantized, x.at);
      else if (graph.cache) kernels.embedPanels(...args);
      else kernels.embed(...args);
      if (isScaled) kernels.barrier();
      if (isScaled) kernels.scale(batch.tokens * width, x.at, factor);
    },
    backward(accumulate) {
      if (!weight.grad) return;
      const mustClear = !isTied && !accumulate;
      kernels.barrier();
      if (isScaled) kernels.scale(batch.tokens * width, x.grad.at, factor);
      if (mustClear) kernels.clear(vocabulary * width, weight.grad.at);
      if (isScaled || mustClear) kernels.barrier();
      kernels.embedBack(batch.tokens, width, tokens, x.grad.at, weight.grad.at);
    },
  }));
  graph.endSegment();
  return x;
}
