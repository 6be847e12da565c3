import type { Activation, Graph } from "./operation.ts";

/** y = silu(gate) · up, of gate and up side by side. */
export function swiglu(graph: Graph, gateUp: Activation): Activation {
  const width = gateUp.width / 2;
  const y = graph.activation(gateUp.rows, width, { isCheap: true });
  graph.add(({ kernels, batch }) => {
    const recompute = () => kernels.swiglu(batch[gateUp.rows], width, gateUp.at, y.at);
    return {
      forward() {
        kernels.barrier();
        recompute();
      },
      recompute,
      backward() {
        kernels.barrier();
        kernels.swigluBack(batch[gateUp.rows], width, gateUp.at, y.grad.at, gateUp.grad.at);
      },
    };
  });
  return y;
}
