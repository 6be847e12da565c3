import type { Dimensions } from "../../families/dimensions.ts";
import { familyOf } from "../../families/families.ts";
import type { Arena } from "../kernels/arena.ts";
import { type GraphOptions, createGraph } from "./graph.ts";
import { placedLayers } from "./layers.ts";
import type { ModelPlan } from "./passes.ts";

/** Places a model in an arena; the same on every thread. */
export function placeModel(arena: Arena, dimensions: Dimensions, options: GraphOptions): ModelPlan {
  const { graph, plan } = createGraph(arena, options);
  const { list, hasCenteredNorms: isCentered = false } = familyOf(dimensions);
  const { epsilon, tied } = dimensions;
  const layers = placedLayers(graph, { epsilon, tied, isCentered });
  list(layers, dimensions);
  return { ...plan, ...layers.placed() };
}
