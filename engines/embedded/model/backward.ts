import type { Thread } from "../kernels/team.ts";
import { qkvWidth } from "./dimensions.ts";
import { blockMaps } from "./forward.ts";
import { createLinear } from "./linear.ts";
import { type ModelPlan, rowsAt } from "./model.ts";

/**
 * The loss and the way back, for all threads alike, after `createForward`'s pass: the gradients of
 * what is trained, and each position's loss.
 */
export function createBackward(thread: Thread, plan: ModelPlan): () => void {
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
  function normBack(x: number, w: number, inverse: number, dw: number | undefined, added: number) {
    kernels.normBack(n, d.width, x, w, inverse, back.dh, back.dx, added);
    if (dw !== undefined) kernels.normWeightBack(n, d.width, x, inverse, back.dh, dw);
  }

  const blocks = weights.blocks.map(({ inputNorm, postNorm }, layer) => {
    const a = acts.blocks[layer];
    if (!a) throw new Error(`the model has no block ${layer}`);
    const maps = blockMaps(plan, layer);
    const gradient = gradients?.blocks[layer];
    const [h1, h2] = [rowsAt(a.h1, d.width), rowsAt(a.h2, d.width)];
    const [mixed, inner] = [rowsAt(a.mixed, mixedRow), rowsAt(a.inner, d.hidden)];
    return () => {
      linearBack(maps.down, inner, dx, dinner, back.dreduced);
      meet();
      kernels.swigluBack(n, d.hidden, a.gateUp, back.dinner, back.dgateUp);
      linearBack(maps.gateUp, h2, dgateUp, dh, back.dreduced);
      meet();
      normBack(a.x1, postNorm, a.inverse2, gradient?.postNorm, back.dx);
      linearBack(maps.o, mixed, dx, dmixed, back.dreduced);
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
      linearBack(maps.qkv, h1, dqkv, dh, back.dreduced);
      meet();
      normBack(a.x, inputNorm, a.inverse1, gradient?.inputNorm, back.dx);
    };
  });
  const head = createHead(thread, plan);

  return function backward() {
    head();
    normBack(acts.x, weights.finalNorm, acts.inverse, gradients?.finalNorm, 0);
    for (const block of blocks.toReversed()) block();
    if (!gradients) return;
    meet();
    const first = gradients.embedding;
    if (!d.tied) kernels.clear(first.out * first.in, first.at);
    if (!d.tied) meet();
    kernels.embedBack(n, d.width, acts.tokens, back.dx, first.at);
  };
}

/** Logits, the loss, and the way back to the final norm, so many positions at a time. */
function createHead(thread: Thread, plan: ModelPlan): () => void {
  const { kernels } = thread;
  const { dimensions: d, weights, gradients, activations: acts, backlog: back } = plan;
  const n = acts.rows * acts.length;
  const { products } = createLinear(thread, n, 1);
  const logits = rowsAt(acts.logits, d.vocabulary);
  const parts = Array.from({ length: Math.ceil(n / acts.headRows) }, (_, part) => {
    const from = part * acts.headRows;
    const h = rowsAt(acts.h + from * d.width * 4, d.width);
    const dh = rowsAt(back.dh + from * d.width * 4, d.width);
    return { from, count: Math.min(acts.headRows, n - from), h, dh };
  });
  return function head() {
    for (const { from, count, h, dh } of parts) {
      products.linear(count, h, weights.head, logits);
      kernels.meet();
      kernels.crossEntropy(
        ...([count, d.vocabulary, acts.logits, acts.targets + from * 4] as const),
        ...([acts.lossWeights + from * 4, acts.losses + from * 4] as const),
      );
      products.linearBack(count, logits, weights.head, dh);
      const dw = gradients?.head;
      if (dw) products.weightBack(count, logits, h, dw, from > 0 ? dw.at : 0);
      kernels.meet();
    }
  };
}
