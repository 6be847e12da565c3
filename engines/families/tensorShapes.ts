import { type WeightCounts, countOf } from "../modelFiles/weights.ts";
import type { Dimensions } from "./dimensions.ts";
import { familyOf } from "./families.ts";
import type { Layers } from "./layers.ts";

/** The dimensions of tensors, by their names. */
export type TensorShapes = Record<string, number[]>;

/** A linear map of a model, which LoRA may adapt. */
export interface ModelMap {
  /** The tensor's name without `.weight`. */
  name: string;
  /** The name that `targetModules` has for it. */
  target: string;
  out: number;
  in: number;
}

/** Every tensor that a model of this shape has, and its dimensions. */
export function weightShapes(shape: Dimensions): TensorShapes {
  return listTensors(shape).shapes;
}

export function weightCounts(shape: Dimensions): WeightCounts {
  return countOf(weightShapes(shape));
}

/** Every linear map of its blocks. */
export function modelMaps(shape: Dimensions): ModelMap[] {
  return listTensors(shape).maps;
}

/** Lists the tensors of a model's operations, between which the widths flow. */
function listTensors(d: Dimensions): { shapes: TensorShapes; maps: ModelMap[] } {
  const shapes: TensorShapes = {};
  const maps: ModelMap[] = [];
  const layers: Layers<number> = {
    embedding(table, vocabulary, width) {
      shapes[table] = [vocabulary, width];
      return width;
    },
    norm(width, weight) {
      shapes[weight] = [width];
      return width;
    },
    linear(width, linears, residual) {
      for (const { name, target, out, hasBias } of linears) {
        shapes[`${name}.weight`] = [out, width];
        if (hasBias) shapes[`${name}.bias`] = [out];
        maps.push({ name, target, out, in: width });
      }
      return residual ?? linears.reduce((sum, { out }) => sum + out, 0);
    },
    headNorm(width, { headDim }, { q, k }) {
      shapes[q] = [headDim];
      shapes[k] = [headDim];
      return width;
    },
    rotation: (width) => width,
    attention: (_, { heads, headDim }) => heads * headDim,
    swiglu: (width) => width / 2,
    geglu: (width) => width / 2,
    select: (width) => width,
    head(width, weight, vocabulary) {
      shapes[weight] = [vocabulary, width];
    },
  };
  familyOf(d).list(layers, d);
  return { shapes, maps };
}
