import type { QuantizedType } from "../../../protocol/exportFormat.ts";
import type { Dimensions } from "../../families/dimensions.ts";
import { familyOf } from "../../families/families.ts";
import { matrixType } from "../../families/matrixTypes.ts";
import type { Arena } from "../kernels/arena.ts";
import { type GraphOptions, createGraph } from "./graph.ts";
import { placedLayers } from "./layers.ts";
import type { ModelPlan } from "./passes.ts";

interface PlaceOptions extends Omit<GraphOptions, "typeOf"> {
  /** What frozen matrices become while they are read. Default: each the type that it is stored in. */
  quantize?: QuantizedType | undefined;
  /** The types of stored tensors, by their names. */
  stored?: Readonly<Record<string, string>> | undefined;
}

/** Places a model in an arena; the same on every thread. */
export function placeModel(arena: Arena, dimensions: Dimensions, options: PlaceOptions): ModelPlan {
  const { quantize, stored } = options;
  const { graph, plan } = createGraph(arena, {
    ...options,
    typeOf: (name, columns) =>
      quantize ? matrixType(quantize, name, columns, dimensions) : stored?.[name],
  });
  const { list, hasCenteredNorms: isCentered = false } = familyOf(dimensions);
  const { epsilon, tied } = dimensions;
  const layers = placedLayers(graph, { epsilon, tied, isCentered });
  list(layers, dimensions);
  return { ...plan, ...layers.placed() };
}
