import type { AttentionHeads, AttentionScores } from "../../families/layers.ts";
import { type Activation, type CachePlan, type Graph, PAGE, pagesOf } from "./operation.ts";

/** Causal attention within each sequence; for inference, with a KV cache. */
export function attention(
  graph: Graph,
  qkv: Activation,
  heads: AttentionHeads,
  scores: AttentionScores,
): Activation {
  const y = graph.activation("tokens", heads.heads * heads.headDim);
  const sizes = { ...heads, ...kernelScores(scores) };
  if (graph.cache) attendCached(graph, qkv, y, sizes, graph.cache);
  else attendUncached(graph, qkv, y, sizes);
  return y;
}

type Sizes = AttentionHeads & ReturnType<typeof kernelScores>;

/** A window longer than any sequence. */
const NO_WINDOW = 2 ** 30;

function kernelScores({ queryScalar, window = NO_WINDOW }: AttentionScores) {
  return { scale: 1 / Math.fround(Math.sqrt(queryScalar)), window: Math.min(window, NO_WINDOW) };
}

function attendUncached(
  graph: Graph,
  qkv: Activation,
  y: Activation,
  { heads, kvHeads, headDim, scale, window }: Sizes,
): void {
  const { scores, longest } = graph.limits;
  const probs = graph.saved(heads * scores, { isCheap: true });
  const scratchPerThread = scoreCount(longest);
  const scratch = graph.scratch(graph.threads * scratchPerThread);
  graph.add(({ kernels, batch, threadIndex }) => {
    const args = () =>
      [
        batch.sequences,
        heads,
        kvHeads,
        headDim,
        qkv.row,
        scale,
        window,
        graph.batch.offsets,
        graph.batch.scoreOffsets,
      ] as const;
    return {
      forward() {
        kernels.barrier();
        kernels.attend(...args(), qkv.at, probs, y.at);
      },
      recompute: () => kernels.attend(...args(), qkv.at, probs, 0),
      backward() {
        const ownScratch = scratch + threadIndex * scratchPerThread * 4;
        kernels.barrier();
        kernels.attendBack(...args(), qkv.at, probs, y.grad.at, qkv.grad.at, ownScratch);
      },
    };
  });
}

/** Attention to the KV cache, after adding the new tokens to it. */
function attendCached(
  graph: Graph,
  qkv: Activation,
  y: Activation,
  { heads, kvHeads, headDim, scale, window }: Sizes,
  { context, table, tableRows }: CachePlan,
): void {
  const elements = PAGE * kvHeads * headDim;
  const [keys, values] = [graph.inPages(elements), graph.inPages(elements)];
  const tableStride = pagesOf(context);
  const scoresPerThread = tableStride * PAGE;
  const scores = graph.scratch(graph.threads * scoresPerThread);
  const newKeys = qkv.at + heads * headDim * 4;
  const { positions } = graph.batch;
  graph.add(({ kernels, batch, threadIndex }) => {
    const cacheArguments = [positions, tableRows, table, tableStride, keys(), values()] as const;
    return {
      forward() {
        kernels.barrier();
        kernels.storeKeys(batch.tokens, kvHeads, headDim, newKeys, qkv.row, ...cacheArguments);
        kernels.barrier();
        kernels.attendPages(
          batch.tokens,
          heads,
          kvHeads,
          headDim,
          scale,
          window,
          qkv.at,
          qkv.row,
          ...cacheArguments,
          scores + threadIndex * scoresPerThread * 4,
          y.at,
        );
      },
      backward: noBackward,
    };
  });
}

function noBackward(): never {
  throw new Error("an inference model has no backward pass");
}

/** Elements of one head's attention scores for a sequence; each row is padded to whole SIMD vectors. */
export function scoreCount(length: number): number {
  return length * Math.ceil(length / LANES) * LANES;
}

/** float32 elements of a SIMD vector. */
const LANES = 4;
