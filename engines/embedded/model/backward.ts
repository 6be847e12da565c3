import { qkvWidth } from "../../llama/dimensions.ts";
import type { Thread } from "../kernels/team.ts";
import type { Forward } from "./forward.ts";
import { createHead } from "./head.ts";
import { createHeadNorms } from "./headNorms.ts";
import { createLinear } from "./linear.ts";
import { type ModelPlan, blockMaps, rowsAt } from "./model.ts";

/**
 * The loss and the way back, for all threads alike, after `createForward`'s pass: the gradients of
 * what is trained, in place of those of before or added to them, and each position's loss.
 * @param again each block's forward pass, and its cheap part alone
 */
export function createBackward(
  thread: Thread,
  plan: ModelPlan,
  again: Pick<Forward, "blocks" | "cheap">,
): (adds: boolean) => void {
  const { kernels } = thread;
  const { meet } = kernels;
  const { dimensions: d, weights, gradients, activations: acts, backlog: back } = plan;
  const { rows, length } = acts;
  const n = rows * length;
  const { linearBack } = createLinear(thread, n, plan.adapterScale);
  const qkvRow = qkvWidth(d);
  const mixedRow = d.heads * d.size;
  const [dx, dh] = [rowsAt(back.dx, d.width), rowsAt(back.dh, d.width)];
  const [dqkv, dmixed] = [rowsAt(back.dqkv, qkvRow), rowsAt(back.dmixed, mixedRow)];
  const [dgateUp, dinner] = [rowsAt(back.dgateUp, 2 * d.hidden), rowsAt(back.dinner, d.hidden)];

  /** Through RMSNorm, and the gradient of its weight if that is trained. */
  function normBack(x: number, w: number, inverse: number, added: number) {
    kernels.normBack(n, d.width, x, w, inverse, back.dh, back.dx, added);
  }
  function normWeightBack(x: number, inverse: number, dw: number | undefined, adds: boolean) {
    if (dw === undefined) return;
    kernels.normWeightBack(n, d.width, x, inverse, back.dh, dw, adds ? dw : 0);
  }

  const blocks = weights.blocks.map(({ inputNorm, postNorm }, layer) => {
    const a = acts.blocks[layer];
    if (!a) throw new Error(`the model has no block ${layer}`);
    const maps = blockMaps(plan, layer);
    const { normHeadsBack } = createHeadNorms(thread, plan, layer);
    const gradient = gradients?.blocks[layer];
    const [h1, h2] = [rowsAt(a.h1, d.width), rowsAt(a.h2, d.width)];
    const [mixed, inner] = [rowsAt(a.mixed, mixedRow), rowsAt(a.inner, d.hidden)];
    return (adds: boolean) => {
      if (layer < acts.recomputed.blocks) again.blocks[layer]?.();
      else if (acts.recomputed.cheap) again.cheap[layer]?.();
      linearBack(maps.down, inner, dx, dinner, back.dreduced, adds);
      meet();
      kernels.swigluBack(n, d.hidden, a.gateUp, back.dinner, back.dgateUp);
      linearBack(maps.gateUp, h2, dgateUp, dh, back.dreduced, adds);
      meet();
      normBack(a.x1, postNorm, a.inverse2, back.dx);
      normWeightBack(a.x1, a.inverse2, gradient?.postNorm, adds);
      linearBack(maps.o, mixed, dx, dmixed, back.dreduced, adds);
      meet();
      const { heads, kvHeads, size } = d;
      const scratch = back.dshares + thread.seat * length * length * 4;
      kernels.attendBack(
        ...([rows, length, heads, kvHeads, size, qkvRow] as const),
        ...([a.qkv, a.shares, back.dmixed, back.dqkv, scratch] as const),
      );
      meet();
      const turned = heads + kvHeads;
      kernels.rotate(n, length, 0, turned, size, back.dqkv, qkvRow, acts.cosines, acts.sines, -1);
      normHeadsBack(adds);
      linearBack(maps.qkv, h1, dqkv, dh, back.dreduced, adds);
      meet();
      normBack(a.x, inputNorm, a.inverse1, back.dx);
      normWeightBack(a.x, a.inverse1, gradient?.inputNorm, adds);
    };
  });
  const head = createHead(thread, plan);

  return function backward(adds) {
    head.lossBack(adds);
    normBack(acts.x, weights.finalNorm, acts.inverse, 0);
    normWeightBack(acts.x, acts.inverse, gradients?.finalNorm, adds);
    for (const block of blocks.toReversed()) block(adds);
    if (!gradients) return;
    meet();
    const first = gradients.embedding;
    const isFresh = !d.tied && !adds;
    if (isFresh) kernels.clear(first.out * first.in, first.at);
    if (isFresh) meet();
    kernels.embedBack(n, d.width, acts.tokens, back.dx, first.at);
  };
}
