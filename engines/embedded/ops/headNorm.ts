import type { AttentionHeads } from "../../families/layers.ts";
import { type NormOptions, normWeight } from "./normWeight.ts";
import type { Activation, Graph } from "./operation.ts";

/** RMSNorm of each head's query and key, in place. */
export function headNorm(
  graph: Graph,
  qkv: Activation,
  { heads, kvHeads, headDim, ...options }: AttentionHeads & NormOptions,
  names: { q: string; k: string },
): Activation {
  const maxTokens = graph.limits.tokens;
  /** Row stride of the saved queries and keys. */
  const xRow = (heads + kvHeads) * headDim;
  const x = graph.saved(maxTokens * xRow);
  const projection = (name: string, count: number, firstHead: number) => ({
    count,
    offset: firstHead * headDim * 4,
    weight: normWeight(graph, name, headDim, options),
    rstd: graph.saved(maxTokens * count, { isSmall: true }),
  });
  const projections = [projection(names.q, heads, 0), projection(names.k, kvHeads, heads)];

  graph.add((context) => {
    const { kernels, batch } = context;
    return {
      forward() {
        for (const { weight } of projections) weight.prepare(context);
        kernels.barrier();
        kernels.copyRows(batch.tokens, xRow, qkv.at, qkv.row, x, xRow);
        kernels.barrier();
        for (const { count, offset, weight, rstd } of projections) {
          kernels.headNorm(
            batch.tokens,
            count,
            headDim,
            x + offset,
            xRow,
            weight.at,
            qkv.at + offset,
            qkv.row,
            rstd,
            options.epsilon,
          );
        }
      },
      backward(accumulate) {
        const { at, row } = qkv.grad;
        kernels.barrier();
        for (const { count, offset, weight, rstd } of projections) {
          if (weight.grad === undefined) continue;
          kernels.headNormWeightBack(
            batch.tokens,
            count,
            headDim,
            x + offset,
            xRow,
            rstd,
            at + offset,
            row,
            weight.grad,
            accumulate ? weight.grad : 0,
          );
        }
        kernels.barrier();
        for (const { count, offset, weight, rstd } of projections) {
          kernels.headNormBack(
            batch.tokens,
            count,
            headDim,
            x + offset,
            xRow,
            weight.at,
            rstd,
            at + offset,
            row,
          );
        }
      },
    };
  });
  return qkv;
}
