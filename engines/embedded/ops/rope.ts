import type { Rope } from "../../families/dimensions.ts";
import type { AttentionHeads } from "../../families/layers.ts";
import type { Activation, Graph } from "./operation.ts";

/** Rotary position embedding of queries and keys, in place. */
export function rope(
  graph: Graph,
  qkv: Activation,
  { heads, kvHeads, headDim }: AttentionHeads,
  config: Rope,
): Activation {
  const { cosines, sines } = graph.angles(config, headDim);
  const { positions } = graph.batch;
  graph.add(({ kernels, batch }) => {
    const rotate = (x: number, sign: number) => {
      kernels.barrier();
      kernels.rotate(
        batch.tokens,
        heads + kvHeads,
        headDim,
        x,
        qkv.row,
        positions,
        cosines,
        sines,
        sign,
      );
    };
    return { forward: () => rotate(qkv.at, 1), backward: () => rotate(qkv.grad.at, -1) };
  });
  return qkv;
}
