import type { Dimensions } from "../../families/dimensions.ts";
import { familyOf } from "../../families/families.ts";
import type { Layers } from "../../families/layers.ts";
import type { Arrays } from "../device/array.ts";
import type { Dispatch } from "../device/dispatch.ts";
import { attention } from "../ops/attention.ts";
import { embedding } from "../ops/embedding.ts";
import { gatedUnit } from "../ops/gatedUnit.ts";
import { planHead } from "../ops/head.ts";
import { headNorm } from "../ops/headNorm.ts";
import { linear } from "../ops/linear.ts";
import { type NormOptions, norm } from "../ops/norm.ts";
import type { Activation, Graph, OutputHead } from "../ops/operation.ts";
import { rope } from "../ops/rope.ts";
import { select } from "../ops/select.ts";
import { type GraphOptions, type GraphPlan, createGraph } from "./graph.ts";

export interface ModelPlan extends GraphPlan {
  /** The forward pass, up to the head. */
  forward: Dispatch[];
  /** The losses, after the forward pass. */
  loss: Dispatch[];
  /** The losses and gradients, after the forward pass. @param adds whether to add to previous gradients */
  backward: (adds: boolean) => Dispatch[];
}

/** Plans a model's memory and calls. */
export function planModel(arrays: Arrays, d: Dimensions, options: GraphOptions): ModelPlan {
  const { graph, plan } = createGraph(arrays, options);
  const { build, hasCenteredNorms: isCentered = false } = familyOf(d);
  const { layers, head } = createLayers(graph, { ...d, isCentered });
  build(layers, d);
  const backward = (adds: boolean) => [
    ...head().backward(adds),
    ...plan.segments
      .toReversed()
      .flatMap((segment) => [
        ...recomputed(segment),
        ...segment.operations.toReversed().flatMap((operation) => operation.backward(adds)),
      ]),
  ];
  return {
    ...plan,
    forward: plan.segments.flatMap(({ operations }) =>
      operations.flatMap(({ forward }) => forward),
    ),
    loss: head().loss,
    backward: cachedByFlag(backward),
  };
}

/** The operations that families list, added to a graph. */
export function createLayers(
  graph: Graph,
  { epsilon, isCentered, tied: isTied }: NormOptions & Pick<Dimensions, "tied">,
) {
  const norms = { epsilon, isCentered };
  let planned: OutputHead = { loss: [], backward: () => [] };
  const layers: Layers<Activation> = {
    embedding: (table, vocabulary, width, factor = 1) =>
      embedding(graph, table, { vocabulary, width, factor, isTied }),
    norm: (x, name, residual) => norm(graph, x, { ...norms, name, residual }),
    linear: (x, linears, residual) => linear(graph, x, linears, residual),
    headNorm: (qkv, heads, weights) => headNorm(graph, qkv, { ...heads, ...norms }, weights),
    rope: (qkv, heads, scaling) => rope(graph, qkv, heads, scaling),
    attention: (qkv, heads, scores) => attention(graph, qkv, heads, scores),
    swiglu: (gateUp) => gatedUnit(graph, gateUp, "swiglu"),
    geglu: (gateUp) => gatedUnit(graph, gateUp, "geglu"),
    select: (x) => select(graph, x),
    head(x, weight, vocabulary) {
      planned = planHead(graph, x, weight, vocabulary);
    },
  };
  return { layers, head: () => planned };
}

function recomputed({ operations, recompute }: GraphPlan["segments"][number]): Dispatch[] {
  if (recompute === "nothing") return [];
  // The last operation's result is the next segment's input, which is saved.
  if (recompute === "all") return operations.slice(0, -1).flatMap(({ forward }) => forward);
  return operations.flatMap((operation) => operation.recompute ?? []);
}

/** Calls are prepared once, so the same flag gives the same calls. */
function cachedByFlag<T>(make: (flag: boolean) => T): (flag: boolean) => T {
  const made = new Map<boolean, T>();
  return (flag) => {
    const value = made.get(flag) ?? make(flag);
    made.set(flag, value);
    return value;
  };
}
