import { type NormOptions, normWeight } from "./normWeight.ts";
import type { Activation, Graph } from "./operation.ts";

/** RMSNorm: y = residual + x · w / √(mean(x²) + epsilon). */
export function norm(
  graph: Graph,
  x: Activation,
  { name, residual, ...options }: NormOptions & { name: string; residual?: Activation | undefined },
): Activation {
  const { width } = x;
  const weight = normWeight(graph, name, width, options);
  const y = residual
    ? graph.residual(residual)
    : graph.activation(x.rows, width, { isCheap: true });
  const rstd = graph.saved(graph.limits[x.rows], { isSmall: true });
  graph.add((context) => {
    const { kernels, batch } = context;
    const compute = () =>
      kernels.norm(
        batch[x.rows],
        width,
        x.at,
        weight.at,
        y.at,
        rstd,
        options.epsilon,
        residual?.at ?? 0,
      );
    return {
      forward() {
        weight.prepare(context);
        kernels.barrier();
        compute();
      },
      // The residual is saved.
      ...(!residual && { recompute: compute }),
      backward(accumulate) {
        const [count, addend] = [batch[x.rows], x.isResidual ? x.grad.at : 0];
        kernels.barrier();
        kernels.normBack(count, width, x.at, weight.at, rstd, y.grad.at, x.grad.at, addend);
        if (weight.grad === undefined) return;
        const dw = weight.grad;
        kernels.normWeightBack(count, width, x.at, rstd, y.grad.at, dw, accumulate ? dw : 0);
      },
    };
  });
  if (residual) graph.endSegment();
  return y;
}
