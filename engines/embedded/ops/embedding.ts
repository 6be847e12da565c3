import type { Activation, Graph } from "./operation.ts";

/** x[t, :] = table[tokens[t], :]. @param isTied whether the head has put its gradient there */
export function embedding(
  graph: Graph,
  table: string,
  { vocabulary, width, isTied }: { vocabulary: number; width: number; isTied: boolean },
): Activation {
  const weight = graph.matrix({ [table]: vocabulary }, width);
  const x = graph.activation("tokens", width, { isResidual: true });
  const { tokens } = graph.batch;
  graph.add(({ kernels, products, batch }) => ({
    forward() {
      const rows = [batch.tokens, width, tokens, weight.at, weight.isBf16 ?? false, x.at] as const;
      const { quantized: type, at, out } = weight;
      kernels.barrier();
      if (type) products.quantized.embed(batch.tokens, tokens, { type, at, out, in: width }, x.at);
      else if (graph.cache) kernels.embedPanels(...rows);
      else kernels.embed(...rows);
    },
    backward(accumulate) {
      if (!weight.grad) return;
      const isFresh = !isTied && !accumulate;
      kernels.barrier();
      if (isFresh) kernels.clear(vocabulary * width, weight.grad.at);
      if (isFresh) kernels.barrier();
      kernels.embedBack(batch.tokens, width, tokens, x.grad.at, weight.grad.at);
    },
  }));
  graph.endPart();
  return x;
}
