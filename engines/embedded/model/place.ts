import { type LlamaShape, dimensionsOf } from "../../llama/dimensions.ts";
import { listModel } from "../../llama/model.ts";
import type { Arena } from "../kernels/arena.ts";
import { type GraphOptions, createGraph } from "./graph.ts";
import { placedLayers } from "./layers.ts";
import type { ModelPlan } from "./passes.ts";

/** Places a model in an arena; the same on every thread. */
export function placeModel(arena: Arena, shape: LlamaShape, options: GraphOptions): ModelPlan {
  const dimensions = dimensionsOf(shape);
  const { graph, plan } = createGraph(arena, options);
  const layers = placedLayers(graph, dimensions);
  listModel(layers, dimensions);
  return { ...plan, ...layers.placed() };
}
