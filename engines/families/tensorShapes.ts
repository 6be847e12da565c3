import { type WeightCounts, countOf } from "../modelFiles/weights.ts";
import type { Dimensions } from "./dimensions.ts";
import { familyOf } from "./families.ts";
import type { Layers } from "./layers.ts";

export type TensorShapes = Record<string, number[]>;

/** A model's linear layer, which LoRA may adapt. */
export interface ModelLinear {
  /** The tensor's name without `.weight`. */
  name: string;
  /** Its name in `targetModules`. */
  target: string;
  out: number;
  in: number;
}

/** Shapes of all tensors of a model. */
export function weightShapes(shape: Dimensions): TensorShapes {
  return listTensors(shape).shapes;
}

export function weightCounts(shape: Dimensions): WeightCounts {
  return countOf(weightShapes(shape));
}

/** All linear layers of a model's blocks. */
export function modelLinears(shape: Dimensions): ModelLinear[] {
  return listTensors(shape).linears;
}

/** Lists a model's tensors by building it with each activation's width in place of the activation. */
function listTensors(d: Dimensions): { shapes: TensorShapes; linears: ModelLinear[] } {
  const shapes: TensorShapes = {};
  const linears: ModelLinear[] = [];
  const layers: Layers<number> = {
    embedding(table, vocabulary, width) {
      shapes[table] = [vocabulary, width];
      return width;
    },
    norm(width, weight) {
      shapes[weight] = [width];
      return width;
    },
    linear(width, linearLayers, residual) {
      for (const { name, target, out, hasBias } of linearLayers) {
        shapes[`${name}.weight`] = [out, width];
        if (hasBias) shapes[`${name}.bias`] = [out];
        linears.push({ name, target, out, in: width });
      }
      return residual ?? linearLayers.reduce((sum, { out }) => sum + out, 0);
    },
    headNorm(width, { headDim }, { q, k }) {
      shapes[q] = [headDim];
      shapes[k] = [headDim];
      return width;
    },
    rope: (width) => width,
    attention: (_, { heads, headDim }) => heads * headDim,
    swiglu: (width) => width / 2,
    geglu: (width) => width / 2,
    select: (width) => width,
    head(width, weight, vocabulary) {
      shapes[weight] = [vocabulary, width];
    },
  };
  familyOf(d).build(layers, d);
  return { shapes, linears };
}
