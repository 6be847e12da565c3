import type { QuantizedType } from "../../../protocol/exportFormat.ts";
import type { Dimensions } from "../../families/dimensions.ts";
import { familyOf } from "../../families/families.ts";
import { matrixType } from "../../families/matrixTypes.ts";
import type { Arena } from "../kernels/arena.ts";
import { type GraphOptions, createGraph } from "./graph.ts";
import { graphLayers } from "./layers.ts";
import type { ModelPlan } from "./passes.ts";

interface PlanOptions extends Omit<GraphOptions, "typeOf"> {
  /** Type to quantize frozen matrices to. Default: their stored type. */
  quantize?: QuantizedType | undefined;
  /** Stored types of tensors, by name. */
  stored?: Readonly<Record<string, string>> | undefined;
}

/** Plans a model's memory in an arena. Every thread makes the same plan. */
export function planModel(arena: Arena, dimensions: Dimensions, options: PlanOptions): ModelPlan {
  const { quantize, stored } = options;
  const { graph, plan } = createGraph(arena, {
    ...options,
    typeOf: (name, columns) =>
      quantize ? matrixType(quantize, name, columns, dimensions) : stored?.[name],
  });
  const { build, hasCenteredNorms: isCentered = false } = familyOf(dimensions);
  const { epsilon, tied } = dimensions;
  const layers = graphLayers(graph, { epsilon, tied, isCentered });
  build(layers, dimensions);
  return { ...plan, ...layers.plannedHead() };
}
