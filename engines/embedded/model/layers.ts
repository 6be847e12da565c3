import type { Layers } from "../../families/layers.ts";
import { attention } from "../ops/attention.ts";
import { embedding } from "../ops/embedding.ts";
import { gatedUnit } from "../ops/gatedUnit.ts";
import { type PlannedHead, planHead } from "../ops/head.ts";
import { headNorm } from "../ops/headNorm.ts";
import { linear } from "../ops/linear.ts";
import { norm } from "../ops/norm.ts";
import type { NormOptions } from "../ops/normWeight.ts";
import type { Activation, Graph } from "../ops/operation.ts";
import { rope } from "../ops/rope.ts";
import { select } from "../ops/select.ts";

/** The operations that a family builds its models from. Each call adds one to the graph. */
export function graphLayers(
  graph: Graph,
  { tied, ...norms }: NormOptions & { tied: boolean },
): Layers<Activation> & { head: Layers<Activation>["head"]; plannedHead: () => PlannedHead } {
  let output: PlannedHead | undefined;
  return {
    embedding: (table, vocabulary, width, factor = 1) =>
      embedding(graph, table, { vocabulary, width, factor, isTied: tied }),
    norm: (x, name, residual) => norm(graph, x, { ...norms, name, residual }),
    linear: (x, linears, residual) => linear(graph, x, linears, residual),
    headNorm: (qkv, heads, weights) => headNorm(graph, qkv, { ...heads, ...norms }, weights),
    rope: (qkv, heads, config) => rope(graph, qkv, heads, config),
    attention: (qkv, heads, scores) => attention(graph, qkv, heads, scores),
    swiglu: (gateUp) => gatedUnit(graph, gateUp, "swiglu"),
    geglu: (gateUp) => gatedUnit(graph, gateUp, "geglu"),
    select: (x) => select(graph, x),
    head(x, weight, vocabulary) {
      output = planHead(graph, x, weight, vocabulary);
    },
    plannedHead() {
      if (!output) throw new Error("the model has no head");
      return output;
    },
  };
}
