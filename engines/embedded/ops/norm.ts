import type { Activation, Graph } from "./operation.ts";

/** RMSNorm: y = x · w / √(mean(x²) + epsilon). */
export function norm(graph: Graph, x: Activation, name: string, epsilon: number): Activation {
  const { width } = x;
  const weight = graph.vector([[name, width]]);
  const y = graph.activation(x.rows, width, { isCheap: true });
  const rstd = graph.keep(graph.limits[x.rows], { isSmall: true });
  graph.add(({ kernels, batch }) => {
    const recompute = () =>
      kernels.norm(batch[x.rows], width, x.at, weight.at, y.at, rstd, epsilon);
    return {
      forward() {
        kernels.barrier();
        recompute();
      },
      recompute,
      backward(accumulate) {
        const [count, added] = [batch[x.rows], x.isResidual ? x.grad.at : 0];
        kernels.barrier();
        kernels.normBack(count, width, x.at, weight.at, rstd, y.grad.at, x.grad.at, added);
        if (weight.grad === undefined) return;
        const dw = weight.grad;
        kernels.normWeightBack(count, width, x.at, rstd, y.grad.at, dw, accumulate ? dw : 0);
      },
    };
  });
  return y;
}
