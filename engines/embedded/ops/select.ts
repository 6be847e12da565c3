import type { Activation, Graph } from "./operation.ts";

/** Selects the positions whose next token is needed, for the operations that follow. */
export function select(graph: Graph, x: Activation): Activation {
  const { width } = x;
  const { selected } = graph.batch;
  const y = graph.activation("selected", width);
  graph.add(({ kernels, batch }) => ({
    forward() {
      kernels.barrier();
      kernels.embed(batch.selected, width, selected, x.at, false, y.at);
    },
    backward() {
      kernels.clear(batch.tokens * width, x.grad.at);
      kernels.barrier();
      kernels.embedBack(batch.selected, width, selected, y.grad.at, x.grad.at);
    },
  }));
  return y;
}
