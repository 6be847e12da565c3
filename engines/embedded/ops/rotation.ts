import type { Rope } from "../../families/dimensions.ts";
import type { AttentionHeads } from "../../families/layers.ts";
import type { Activation, Graph } from "./operation.ts";

/** Turns queries and keys by the angles of their positions, in place; values stay as they are. */
export function rotation(
  graph: Graph,
  qkv: Activation,
  { heads, kvHeads, headDim }: AttentionHeads,
  rope: Rope,
): Activation {
  const { cosines, sines } = graph.angles(rope, headDim);
  const { positions } = graph.batch;
  graph.add(({ kernels, batch }) => {
    const turn = (x: number, sign: number) => {
      kernels.barrier();
      kernels.rotate(
        ...([batch.tokens, heads + kvHeads, headDim, x, qkv.row] as const),
        ...([positions, cosines, sines, sign] as const),
      );
    };
    return { forward: () => turn(qkv.at, 1), backward: () => turn(qkv.grad.at, -1) };
  });
  return qkv;
}
