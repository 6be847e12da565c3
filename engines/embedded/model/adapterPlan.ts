import type { LoraConfig } from "../../../protocol/trainConfig.ts";
import { type Dimensions, projectionSizes } from "../../llama/dimensions.ts";
import { projectionName } from "../../llama/weights.ts";
import type { Arena, Purpose } from "../kernels/arena.ts";
import type { Matrix } from "../kernels/operations.ts";
import { type Group, type MapName, type Places, MAPS } from "./weightPlan.ts";

/** The update of one projection: y[from …] += scale · (x·Aᵀ)·Bᵀ. */
export interface Update {
  /** The projection's first output among those of its map. */
  from: number;
  /** [r, in] */
  a: Matrix;
  /** [out, r] */
  b: Matrix;
}

/** Where an adapter's numbers lie; their gradients and moments lie in the same way elsewhere. */
export interface AdapterPlan {
  /** Updates of each block, by the map they belong to. */
  blocks: Record<MapName, Update[]>[];
  groups: Group[];
  tensors: Places;
}

const MAP_NAMES = Object.keys(MAPS) as MapName[];

/** No adapter. */
export function noAdapter(layers: number): AdapterPlan {
  const blocks = Array.from({ length: layers }, () => ({ qkv: [], o: [], gateUp: [], down: [] }));
  return { blocks, groups: [], tensors: {} };
}

export function planAdapter(
  arena: Arena,
  purpose: Purpose,
  d: Dimensions,
  { r, targetModules }: LoraConfig,
): AdapterPlan {
  const plan = noAdapter(d.layers);
  function matrix(name: string, out: number, inner: number): Matrix {
    const at = arena.words(purpose, out * inner);
    plan.groups.push({ at, count: out * inner, decays: true });
    plan.tensors[name] = { at };
    return { at, out, in: inner };
  }
  plan.blocks.forEach((updates, layer) => {
    for (const map of MAP_NAMES) {
      let from = 0;
      for (const projection of MAPS[map]) {
        const [out, inner] = projectionSizes(projection, d);
        if (targetModules.includes(projection)) {
          const name = projectionName(layer, projection);
          const a = matrix(`${name}.lora_A.weight`, r, inner);
          const b = matrix(`${name}.lora_B.weight`, out, r);
          updates[map].push({ from, a, b });
        }
        from += out;
      }
    }
  });
  return plan;
}
