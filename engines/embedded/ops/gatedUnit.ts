import type { Activation, Graph } from "./operation.ts";

/** y = activation(gate) · up, of gate and up side by side. */
export function gatedUnit(graph: Graph, gateUp: Activation, kind: "swiglu" | "geglu"): Activation {
  const width = gateUp.width / 2;
  const y = graph.activation(gateUp.rows, width, { isCheap: true });
  graph.add(({ kernels, batch }) => {
    const recompute = () => kernels[kind](batch[gateUp.rows], width, gateUp.at, y.at);
    return {
      forward() {
        kernels.barrier();
        recompute();
      },
      recompute,
      backward() {
        kernels.barrier();
        kernels[`${kind}Back`](batch[gateUp.rows], width, gateUp.at, y.grad.at, gateUp.grad.at);
      },
    };
  });
  return y;
}
