import type { AttentionHeads } from "../../families/layers.ts";
import { type Activation, type CachePlan, type Graph, PAGE, pagesOf } from "./operation.ts";

/** Causal attention within each sequence; from kept keys and values where the model answers. */
export function attention(graph: Graph, qkv: Activation, heads: AttentionHeads): Activation {
  const y = graph.activation("tokens", heads.heads * heads.headDim);
  if (graph.cache) attendKept(graph, qkv, y, heads, graph.cache);
  else attendWithin(graph, qkv, y, heads);
  return y;
}

function attendWithin(
  graph: Graph,
  qkv: Activation,
  y: Activation,
  { heads, kvHeads, headDim }: AttentionHeads,
): void {
  const { squares, longest } = graph.limits;
  const probs = graph.keep(heads * squares, { isCheap: true });
  const ownScratch = squareOf(longest);
  const scratch = graph.scratch(graph.threads * ownScratch);
  graph.add(({ kernels, batch, threadIndex }) => {
    const sizes = () =>
      [
        ...([batch.sequences, heads, kvHeads, headDim, qkv.row] as const),
        ...([graph.batch.offsets, graph.batch.squares] as const),
      ] as const;
    return {
      forward() {
        kernels.barrier();
        kernels.attend(...sizes(), qkv.at, probs, y.at);
      },
      recompute: () => kernels.attend(...sizes(), qkv.at, probs, 0),
      backward() {
        const own = scratch + threadIndex * ownScratch * 4;
        kernels.barrier();
        kernels.attendBack(...sizes(), qkv.at, probs, y.grad.at, qkv.grad.at, own);
      },
    };
  });
}

/** Of sequences whose positions follow those that were read before. */
function attendKept(
  graph: Graph,
  qkv: Activation,
  y: Activation,
  { heads, kvHeads, headDim }: AttentionHeads,
  { context, pages, table, owners }: CachePlan,
): void {
  const numbers = pages * PAGE * kvHeads * headDim;
  const [keys, values] = [graph.own(numbers), graph.own(numbers)];
  const tableRow = pagesOf(context);
  const ownScores = tableRow * PAGE;
  const scores = graph.scratch(graph.threads * ownScores);
  const keysFrom = qkv.at + heads * headDim * 4;
  const { positions } = graph.batch;
  const places = [positions, owners, table, tableRow, keys, values] as const;
  graph.add(({ kernels, batch, threadIndex }) => ({
    forward() {
      kernels.barrier();
      kernels.storeKeys(batch.tokens, kvHeads, headDim, keysFrom, qkv.row, ...places);
      kernels.barrier();
      kernels.attendPages(
        ...([batch.tokens, heads, kvHeads, headDim, qkv.at, qkv.row, ...places] as const),
        ...([scores + threadIndex * ownScores * 4, y.at] as const),
      );
    },
    backward: onlyForward,
  }));
}

function onlyForward(): never {
  throw new Error("an answering model has no backward pass");
}

/** Numbers of one head's probabilities of a sequence: lines of whole vectors. */
export function squareOf(length: number): number {
  return length * Math.ceil(length / LANES) * LANES;
}

const LANES = 4;
