import type { LinearLayer } from "../../families/layers.ts";
import { columnsFrom, rowsAt } from "../kernels/matmuls.ts";
import { planAdapters } from "./adapters.ts";
import { planInferenceMatmul } from "./inferenceMatmul.ts";
import type { Activation, CachePlan, Graph, MatrixWeight, OperationContext } from "./operation.ts";

/**
 * Adjacent linear layers of one input, each with its bias and LoRA update:
 * y = residual + x·Wᵀ + scale · (x·Aᵀ)·Bᵀ + bias.
 */
export function linear(
  graph: Graph,
  x: Activation,
  linears: readonly LinearLayer[],
  residual?: Activation,
): Activation {
  const weight = graph.matrix(
    Object.fromEntries(linears.map(({ name, out }) => [`${name}.weight`, out])),
    x.width,
  );
  const bias = linears.some(({ hasBias }) => hasBias)
    ? graph.vector(
        linears.map(({ name, out, hasBias }) => [hasBias ? `${name}.bias` : undefined, out]),
      )
    : undefined;
  const updates = planUpdates(graph, x, linears);
  const y = residual ? graph.residual(residual) : graph.activation(x.rows, weight.out);
  const inference =
    graph.cache && planInference(graph, x, linears, { weight, y, runs: graph.cache.runs });
  const dz = graph.scratch(graph.limits[x.rows] * Math.max(0, ...updates.map(({ a }) => a.out)));

  graph.add((context) => {
    const { kernels, matmuls, batch } = context;
    const multiply = inference?.(context);
    return {
      forward() {
        const n = batch[x.rows];
        if (multiply) multiply(residual?.at);
        else matmuls.linear(n, x, weight, y, residual?.at);
        for (const { from, a, b, z, scale } of batch.usesAdapter ? updates : []) {
          const columns = columnsFrom(y, from);
          matmuls.linear(n, x, a, z);
          matmuls.linear(n, z, b, columns, columns.at, scale);
        }
        if (!bias) return;
        kernels.barrier();
        kernels.addBias(n, weight.out, bias.at, y.at, y.row);
      },
      backward(accumulate) {
        const n = batch[x.rows];
        const addend = ({ at }: { at: number }) => (accumulate ? at : 0);
        matmuls.linearBack(n, y.grad, weight, x.grad);
        if (weight.grad) matmuls.weightBack(n, y.grad, x, weight.grad, addend(weight.grad));
        for (const { from, a, b, z, scale } of updates) {
          const columns = columnsFrom(y.grad, from);
          const dzRows = rowsAt(dz, a.out);
          matmuls.linearBack(n, columns, b, dzRows, 0, scale);
          if (b.grad) matmuls.weightBack(n, columns, z, b.grad, addend(b.grad), scale);
          if (a.grad) matmuls.weightBack(n, dzRows, x, a.grad, addend(a.grad));
          matmuls.linearBack(n, dzRows, a, x.grad, x.grad.at);
        }
        if (bias?.grad === undefined) return;
        kernels.biasBack(
          n,
          weight.out,
          y.grad.at,
          y.grad.row,
          bias.grad,
          accumulate ? bias.grad : 0,
        );
      },
    };
  });
  if (residual) graph.endSegment();
  return y;
}

/** Plans x·Wᵀ for inference, with the updates of each token's adapter. */
function planInference(
  graph: Graph,
  x: Activation,
  linears: readonly LinearLayer[],
  { weight, y, runs }: { weight: MatrixWeight; y: Activation; runs: CachePlan["runs"] },
) {
  const product = planInferenceMatmul(graph, x, weight);
  const adapters = planAdapters(graph, x, linears, { y, runs });
  return (context: OperationContext) => {
    const [multiply, adapt] = [product(context), adapters(context)];
    return (addend?: number): void => {
      multiply(y, addend);
      adapt();
    };
  };
}

/** Plans the adapted layers' LoRA updates, each with memory for z = x·Aᵀ. */
function planUpdates(graph: Graph, x: Activation, linears: readonly LinearLayer[]) {
  let next = 0;
  return linears.flatMap(({ name, target, out }) => {
    const from = next;
    next += out;
    const update = graph.lora(name, target, out, x.width);
    if (!update) return [];
    const r = update.a.out;
    return [
      { ...update, from, z: rowsAt(graph.saved(graph.limits[x.rows] * r, { isSmall: true }), r) },
    ];
  });
}
