import { qkvWidth } from "../../llama/dimensions.ts";
import type { Thread } from "../kernels/team.ts";
import { createHeadNorms } from "./headNorms.ts";
import { createLinear } from "./linear.ts";
import { type ModelPlan, blockMaps, rowsAt } from "./model.ts";

export interface Forward {
  forward: () => void;
  /** Each block's part, from its input to the next one's. */
  blocks: (() => void)[];
  /** The cheap activations of each block, from its others; they are read after a meeting. */
  cheap: (() => void)[];
}

/**
 * The forward pass up to the final norm, for all threads alike: Llama's blocks, each
 * x1 = x + attention(norm(x)), then x1 + down(swiglu(gateUp(norm(x1)))).
 */
export function createForward(thread: Thread, plan: ModelPlan): Forward {
  const { kernels } = thread;
  const { meet } = kernels;
  const { dimensions: d, weights, activations: acts } = plan;
  const { rows, length } = acts;
  const n = rows * length;
  const { linear } = createLinear(thread, n, plan.adapterScale);
  const qkvRow = qkvWidth(d);
  const mixedRow = d.heads * d.size;

  const parts = weights.blocks.map(({ inputNorm, postNorm }, layer) => {
    const a = acts.blocks[layer];
    if (!a) throw new Error(`the model has no block ${layer}`);
    const maps = blockMaps(plan, layer);
    const { normHeads } = createHeadNorms(thread, plan, layer);
    const [h1, h2] = [rowsAt(a.h1, d.width), rowsAt(a.h2, d.width)];
    const [qkv, mixed] = [rowsAt(a.qkv, qkvRow), rowsAt(a.mixed, mixedRow)];
    const [gateUp, inner] = [rowsAt(a.gateUp, 2 * d.hidden), rowsAt(a.inner, d.hidden)];
    const x1 = rowsAt(a.x1, d.width);
    const out = rowsAt(acts.blocks[layer + 1]?.x ?? acts.x, d.width);
    const norm1 = () => kernels.norm(n, d.width, a.x, inputNorm, a.h1, a.inverse1, d.epsilon);
    const norm2 = () => kernels.norm(n, d.width, a.x1, postNorm, a.h2, a.inverse2, d.epsilon);
    /** @param to 0 for the softmax alone */
    const attend = (to: number) =>
      kernels.attend(rows, length, d.heads, d.kvHeads, d.size, qkvRow, a.qkv, a.shares, to);
    const swiglu = () => kernels.swiglu(n, d.hidden, a.gateUp, a.inner);

    const block = () => {
      norm1();
      linear(maps.qkv, h1, qkv);
      meet();
      normHeads();
      const turned = d.heads + d.kvHeads;
      kernels.rotate(n, length, 0, turned, d.size, a.qkv, qkvRow, acts.cosines, acts.sines, 1);
      meet();
      attend(a.mixed);
      linear(maps.o, mixed, x1, a.x);
      meet();
      norm2();
      linear(maps.gateUp, h2, gateUp);
      meet();
      swiglu();
      linear(maps.down, inner, out, a.x1);
      meet();
    };

    const cheap = () => {
      norm1();
      norm2();
      attend(0);
      swiglu();
    };

    return { block, cheap };
  });

  function forward() {
    const first = acts.blocks[0]?.x ?? acts.x;
    const { at, half } = weights.embedding;
    kernels.embed(n, d.width, acts.tokens, at, half ? 1 : 0, first);
    meet();
    for (const { block } of parts) block();
    kernels.norm(n, d.width, acts.x, weights.finalNorm, acts.h, acts.inverse, d.epsilon);
  }

  return {
    forward,
    blocks: parts.map(({ block }) => block),
    cheap: parts.map(({ cheap }) => cheap),
  };
}
