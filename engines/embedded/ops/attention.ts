import type { AttentionHeads } from "../../families/layers.ts";
import type { Activation, Graph } from "./operation.ts";

/** Causal attention within each sequence; from kept keys and values where the model answers. */
export function attention(graph: Graph, qkv: Activation, heads: AttentionHeads): Activation {
  const y = graph.activation("tokens", heads.heads * heads.headDim);
  if (graph.keptKeys === undefined) attendWithin(graph, qkv, y, heads);
  else attendKept(graph, qkv, y, heads, graph.keptKeys);
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

/** Of one sequence, whose positions follow those that were read before. @param context in tokens */
function attendKept(
  graph: Graph,
  qkv: Activation,
  y: Activation,
  { heads, kvHeads, headDim }: AttentionHeads,
  context: number,
): void {
  const kvRow = kvHeads * headDim;
  const [keys, values] = [graph.own(context * kvRow), graph.own(context * kvRow)];
  const scores = graph.scratch(graph.limits.tokens * heads * context);
  const keysFrom = qkv.at + heads * headDim * 4;
  const { positions } = graph.batch;
  graph.add(({ kernels, memory, batch }) => {
    const first = new Int32Array(memory.buffer, positions, 1);
    return {
      forward() {
        const to = (first[0] ?? 0) * kvRow * 4;
        kernels.barrier();
        kernels.copyRows(batch.tokens, kvRow, keysFrom, qkv.row, keys + to, kvRow);
        kernels.copyRows(batch.tokens, kvRow, keysFrom + kvRow * 4, qkv.row, values + to, kvRow);
        kernels.barrier();
        kernels.attendCached(
          ...([batch.tokens, heads, kvHeads, headDim, qkv.row, context, positions] as const),
          ...([qkv.at, keys, values, scores, y.at] as const),
        );
      },
      backward: onlyForward,
    };
  });
}

function onlyForward(): never {
  throw new Error("an answering model has no backward pass");
}

/** Numbers of one head's probabilities of a sequence: lines of whole vectors. */
export function squareOf(length: number): number {
  return length * Math.ceil(length / LANES) * LANES;
}

const LANES = 4;
