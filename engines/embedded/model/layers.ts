import type { Layers } from "../../families/layers.ts";
import { attention } from "../ops/attention.ts";
import { embedding } from "../ops/embedding.ts";
import { type PlacedHead, placeHead } from "../ops/head.ts";
import { headNorm } from "../ops/headNorm.ts";
import { linear } from "../ops/linear.ts";
import { norm } from "../ops/norm.ts";
import type { Activation, Graph } from "../ops/operation.ts";
import { rotation } from "../ops/rotation.ts";
import { select } from "../ops/select.ts";
import { swiglu } from "../ops/swiglu.ts";

/** The operations of a model, placed in a graph as a family lists them. */
export function placedLayers(
  graph: Graph,
  { epsilon, tied }: { epsilon: number; tied: boolean },
): Layers<Activation> & { head: Layers<Activation>["head"]; placed: () => PlacedHead } {
  let last: PlacedHead | undefined;
  return {
    embedding: (table, vocabulary, width) =>
      embedding(graph, table, { vocabulary, width, isTied: tied }),
    norm: (x, weight) => norm(graph, x, weight, epsilon),
    linear: (x, maps, residual) => linear(graph, x, maps, residual),
    headNorm: (qkv, heads, weights) => headNorm(graph, qkv, { ...heads, epsilon }, weights),
    rotation: (qkv, heads, rope) => rotation(graph, qkv, heads, rope),
    attention: (qkv, heads) => attention(graph, qkv, heads),
    swiglu: (gateUp) => swiglu(graph, gateUp),
    select: (x) => select(graph, x),
    head(x, weight, vocabulary) {
      last = placeHead(graph, x, weight, vocabulary);
    },
    placed() {
      if (!last) throw new Error("the model has no head");
      return last;
    },
  };
}
