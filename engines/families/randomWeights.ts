import { createRandom } from "../dataset/random.ts";
import type { Weights } from "../modelFiles/weights.ts";
import type { Dimensions } from "./dimensions.ts";
import { familyOf } from "./families.ts";
import { EMBEDDING } from "./projections.ts";
import { weightShapes } from "./tensorShapes.ts";

const EMBEDDING_STD = 0.2;

/**
 * Random weights with a standard deviation of 1/√in. Matrices that write to the residual stream are further divided
 * by √(2·layers), so that its variance does not grow with depth.
 */
export function randomWeights(shape: Dimensions, seed: number): Weights {
  const residualScale = 1 / Math.sqrt(2 * shape.layers);
  const unitNorm = familyOf(shape).hasCenteredNorms ? 0 : 1;
  const weights: Weights = {};
  for (const [name, dimensions] of Object.entries(weightShapes(shape))) {
    const data = new Float32Array(dimensions.reduce((product, size) => product * size, 1));
    if (dimensions.length === 1) {
      data.fill(name.endsWith(".bias") ? 0 : unitNorm);
    } else {
      const random = createRandom(seed, name);
      const writesToResidual = /(o_proj|down_proj)\.weight$/.test(name);
      const fanIn = 1 / Math.sqrt(dimensions[1] ?? 1);
      const std =
        name === EMBEDDING ? EMBEDDING_STD : fanIn * (writesToResidual ? residualScale : 1);
      for (let i = 0; i < data.length; i++) data[i] = random.normal() * std;
    }
    weights[name] = { shape: dimensions, data };
  }
  return weights;
}
