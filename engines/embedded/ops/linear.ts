import type { LinearMap } from "../../families/layers.ts";
import { columnsFrom, rowsAt } from "../kernels/products.ts";
import { placeAdapters } from "./adapters.ts";
import { placeAnswerProduct } from "./answerProduct.ts";
import type { Activation, CachePlan, Graph, MatrixWeight, Worker } from "./operation.ts";

/**
 * Linear maps of one input, side by side, each with its bias and its update by LoRA:
 * y = residual + x·Wᵀ + scale · (x·Aᵀ)·Bᵀ + bias.
 */
export function linear(
  graph: Graph,
  x: Activation,
  maps: readonly LinearMap[],
  residual?: Activation,
): Activation {
  const weight = graph.matrix(
    Object.fromEntries(maps.map(({ name, out }) => [`${name}.weight`, out])),
    x.width,
  );
  const bias = maps.some(({ hasBias }) => hasBias)
    ? graph.vector(
        maps.map(({ name, out, hasBias }) => [hasBias ? `${name}.bias` : undefined, out]),
      )
    : undefined;
  const updates = placeUpdates(graph, x, maps);
  const y = residual ? graph.residual(residual) : graph.activation(x.rows, weight.out);
  const answer = graph.cache && placeAnswer(graph, x, maps, { weight, y, runs: graph.cache.runs });
  const dz = graph.scratch(graph.limits[x.rows] * Math.max(0, ...updates.map(({ a }) => a.out)));

  graph.add((worker) => {
    const { kernels, products, batch } = worker;
    const multiply = answer?.(worker);
    return {
      forward() {
        const n = batch[x.rows];
        if (multiply) multiply(residual?.at);
        else products.linear(n, x, weight, y, residual?.at);
        for (const { from, a, b, z, scale } of batch.usesAdapter ? updates : []) {
          const part = columnsFrom(y, from);
          products.linear(n, x, a, z);
          products.linear(n, z, b, part, part.at, scale);
        }
        if (!bias) return;
        kernels.barrier();
        kernels.addBias(n, weight.out, bias.at, y.at, y.row);
      },
      backward(accumulate) {
        const n = batch[x.rows];
        const added = ({ at }: { at: number }) => (accumulate ? at : 0);
        products.linearBack(n, y.grad, weight, x.grad);
        if (weight.grad) products.weightBack(n, y.grad, x, weight.grad, added(weight.grad));
        for (const { from, a, b, z, scale } of updates) {
          const part = columnsFrom(y.grad, from);
          const back = rowsAt(dz, a.out);
          products.linearBack(n, part, b, back, 0, scale);
          if (b.grad) products.weightBack(n, part, z, b.grad, added(b.grad), scale);
          if (a.grad) products.weightBack(n, back, x, a.grad, added(a.grad));
          products.linearBack(n, back, a, x.grad, x.grad.at);
        }
        if (bias?.grad === undefined) return;
        kernels.biasBack(
          ...([n, weight.out, y.grad.at, y.grad.row] as const),
          ...([bias.grad, accumulate ? bias.grad : 0] as const),
        );
      },
    };
  });
  if (residual) graph.endPart();
  return y;
}

/** The product of an answering model, and what the adapters of the tokens add to it. */
function placeAnswer(
  graph: Graph,
  x: Activation,
  maps: readonly LinearMap[],
  { weight, y, runs }: { weight: MatrixWeight; y: Activation; runs: CachePlan["runs"] },
) {
  const product = placeAnswerProduct(graph, x, weight);
  const adapters = placeAdapters(graph, x, maps, { y, runs });
  return (worker: Worker) => {
    const [multiply, adapt] = [product(worker), adapters(worker)];
    return (added?: number): void => {
      multiply(y, added);
      adapt();
    };
  };
}

/** The updates of those maps that are adapted, each with the place of z = x·Aᵀ. */
function placeUpdates(graph: Graph, x: Activation, maps: readonly LinearMap[]) {
  let next = 0;
  return maps.flatMap(({ name, target, out }) => {
    const from = next;
    next += out;
    const update = graph.lora(name, target, out, x.width);
    if (!update) return [];
    const r = update.a.out;
    return [
      { ...update, from, z: rowsAt(graph.keep(graph.limits[x.rows] * r, { isSmall: true }), r) },
    ];
  });
}
