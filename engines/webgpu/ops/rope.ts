import type { Rope } from "../../families/dimensions.ts";
import type { AttentionHeads } from "../../families/layers.ts";
import { type DeviceArray, wholeSlice } from "../device/array.ts";
import { dispatch, elements } from "../device/dispatch.ts";
import { rotate } from "../kernels/elements.ts";
import type { Activation, Graph } from "./operation.ts";

/** Rotary position embedding of queries and keys, in place. */
export function rope(
  graph: Graph,
  qkv: Activation,
  { heads, kvHeads, headDim }: AttentionHeads,
  scaling: Rope,
): Activation {
  const { cosines, sines } = graph.angles(scaling, headDim);
  const [rotated, width] = [heads + kvHeads, headDim / 2];
  const rotation = (x: DeviceArray, sign: number) =>
    dispatch(
      rotate,
      { heads: rotated, width, row: qkv.width, sign },
      {
        positions: wholeSlice(graph.batch.positions),
        cosines: wholeSlice(cosines),
        sines: wholeSlice(sines),
        x: wholeSlice(x),
      },
      ({ tokens }) => elements(tokens * rotated * width),
    );
  graph.add({
    forward: [rotation(qkv.array, 1)],
    backward: () => [rotation(qkv.grad, -1)],
  });
  return qkv;
}
