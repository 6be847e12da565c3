import type { Activation, Graph } from "./operation.ts";

/** y = activation(gate) · up, with gate and up concatenated. */
export function gatedUnit(graph: Graph, gateUp: Activation, kind: "swiglu" | "geglu"): Activation {
  const width = gateUp.width / 2;
  const isGelu = kind === "geglu";
  const y = graph.activation(gateUp.rows, width, { isCheap: true });
  graph.add(({ kernels, batch }) => {
    function recompute(): void {
      const sizes = [batch[gateUp.rows], width, gateUp.at, y.at] as const;
      if (isGelu) kernels.geglu(...sizes);
      else kernels.swiglu(...sizes);
    }
    return {
      forward() {
        kernels.barrier();
        recompute();
      },
      recompute,
      backward() {
        const sizes = [batch[gateUp.rows], width, gateUp.at, y.grad.at, gateUp.grad.at] as const;
        kernels.barrier();
        if (isGelu) kernels.gegluBack(...sizes);
        else kernels.swigluBack(...sizes);
      },
    };
  });
  return y;
}
