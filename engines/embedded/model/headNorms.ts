import { qkvWidth } from "../../llama/dimensions.ts";
import type { Thread } from "../kernels/team.ts";
import type { ModelPlan } from "./model.ts";

/**
 * RMSNorm of each head's query and key, between the projections and the rotation, and its way back.
 * Both do nothing in a model without it.
 */
export function createHeadNorms(thread: Thread, plan: ModelPlan, layer: number) {
  const { kernels } = thread;
  const { dimensions: d, activations: acts, backlog: back } = plan;
  const a = acts.blocks[layer];
  const saved = a?.headNorms;
  const weights = plan.weights.blocks[layer]?.headNorms;
  if (!a || !saved || !weights) return { normHeads: () => {}, normHeadsBack: () => {} };
  const gradient = plan.gradients?.blocks[layer]?.headNorms;
  const n = acts.rows * acts.length;
  const { size, epsilon } = d;
  const [row, savedRow] = [qkvWidth(d), (d.heads + d.kvHeads) * size];
  const parts = [
    { name: "q", heads: d.heads, from: 0 },
    { name: "k", heads: d.kvHeads, from: d.heads * size * 4 },
  ] as const;

  /** After a meeting; its results are read after another. */
  const normHeads = () => {
    kernels.copyRows(n, savedRow, a.qkv, row, saved.x, savedRow);
    kernels.meet();
    for (const { name, heads, from } of parts) {
      const [x, y] = [saved.x + from, a.qkv + from];
      kernels.headNorm(
        n,
        heads,
        size,
        x,
        savedRow,
        weights[name],
        y,
        row,
        saved.inverse[name],
        epsilon,
      );
    }
    kernels.meet();
  };

  /** The same of the gradients in the backlog. */
  const normHeadsBack = (adds: boolean) => {
    kernels.meet();
    for (const { name, heads, from } of parts) {
      const dw = gradient?.[name];
      if (dw === undefined) continue;
      const [x, dy] = [saved.x + from, back.dqkv + from];
      kernels.headNormWeightBack(
        ...([
          n,
          heads,
          size,
          x,
          savedRow,
          saved.inverse[name],
          dy,
          row,
          dw,
          adds ? dw : 0,
        ] as const),
      );
    }
    kernels.meet();
    for (const { name, heads, from } of parts) {
      const [x, dy] = [saved.x + from, back.dqkv + from];
      kernels.headNormBack(
        n,
        heads,
        size,
        x,
        savedRow,
        weights[name],
        saved.inverse[name],
        dy,
        row,
      );
    }
  };

  return { normHeads, normHeadsBack };
}
