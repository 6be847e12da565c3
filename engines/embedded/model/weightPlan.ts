import type { Projection } from "../../../protocol/modelNames.ts";
import {
  type Weights,
  EMBEDDING,
  FINAL_NORM,
  normName,
  projectionName,
} from "../../llama/weights.ts";
import type { Arena, Purpose } from "../kernels/arena.ts";
import type { Address } from "../kernels/kernels.ts";
import type { Matrix } from "../kernels/operations.ts";
import { type Dimensions, qkvWidth } from "./dimensions.ts";

/** The linear maps of a block as they are multiplied: projections of the same input are one matrix. */
export const MAPS = {
  qkv: ["q_proj", "k_proj", "v_proj"],
  o: ["o_proj"],
  gateUp: ["gate_proj", "up_proj"],
  down: ["down_proj"],
} as const satisfies Record<string, Projection[]>;

export type MapName = keyof typeof MAPS;

export interface BlockPlan {
  inputNorm: Address;
  postNorm: Address;
  maps: Record<MapName, Matrix>;
}

/** Numbers that lie together and are updated alike. */
export interface Group {
  at: Address;
  count: number;
  /** Matrices decay, norms do not. */
  decays: boolean;
}

/** Where a model's weights lie; their gradients and moments lie in the same way elsewhere. */
export interface WeightPlan {
  embedding: Matrix;
  /** The embedding itself, if they are tied. */
  head: Matrix;
  finalNorm: Address;
  blocks: BlockPlan[];
  groups: Group[];
  /** Where each tensor of a checkpoint lies, by its name. */
  tensors: Record<string, Address>;
}

export const HEAD = "lm_head.weight";

/** [out, in] of each projection. */
export function projectionSizes(projection: Projection, d: Dimensions): [number, number] {
  switch (projection) {
    case "q_proj":
      return [d.heads * d.size, d.width];
    case "k_proj":
    case "v_proj":
      return [d.kvHeads * d.size, d.width];
    case "o_proj":
      return [d.width, d.heads * d.size];
    case "gate_proj":
    case "up_proj":
      return [d.hidden, d.width];
    case "down_proj":
      return [d.width, d.hidden];
  }
}

/** @param half whether matrices are of bfloat16; norms are always of float32 */
export function planWeights(
  arena: Arena,
  purpose: Purpose,
  d: Dimensions,
  half = false,
): WeightPlan {
  const groups: Group[] = [];
  const tensors: Record<string, Address> = {};
  const bytes = half ? 2 : 4;

  function matrix(out: number, inner: number): Matrix {
    const at = arena.bytes(purpose, out * inner * bytes);
    groups.push({ at, count: out * inner, decays: true });
    return { at, out, in: inner, half };
  }
  function named(name: string, out: number, inner: number): Matrix {
    const made = matrix(out, inner);
    tensors[name] = made.at;
    return made;
  }
  function norm(name: string): Address {
    const at = arena.words(purpose, d.width);
    groups.push({ at, count: d.width, decays: false });
    tensors[name] = at;
    return at;
  }
  function map(layer: number, name: MapName, out: number, inner: number): Matrix {
    const whole = matrix(out, inner);
    let at = whole.at;
    for (const projection of MAPS[name]) {
      tensors[`${projectionName(layer, projection)}.weight`] = at;
      at += projectionSizes(projection, d)[0] * inner * bytes;
    }
    return whole;
  }

  const embedding = named(EMBEDDING, d.vocabulary, d.width);
  const head = d.tied ? embedding : named(HEAD, d.vocabulary, d.width);
  const blocks = Array.from({ length: d.layers }, (_, layer): BlockPlan => ({
    inputNorm: norm(normName(layer, "input")),
    postNorm: norm(normName(layer, "post_attention")),
    maps: {
      qkv: map(layer, "qkv", qkvWidth(d), d.width),
      o: map(layer, "o", d.width, d.heads * d.size),
      gateUp: map(layer, "gateUp", 2 * d.hidden, d.width),
      down: map(layer, "down", d.width, d.hidden),
    },
  }));
  return { embedding, head, finalNorm: norm(FINAL_NORM), blocks, groups, tensors };
}

/** Copies weights into the memory, as float32. */
export function writeTensors(
  memory: WebAssembly.Memory,
  tensors: Record<string, Address>,
  weights: Weights,
): void {
  for (const [name, at] of Object.entries(tensors)) {
    const tensor = weights[name];
    if (!tensor) throw new Error(`the model has no tensor ${name}`);
    new Float32Array(memory.buffer, at, tensor.data.length).set(tensor.data);
  }
}

/** Copies of the tensors that `like` has, as they are now. */
export function readTensors(
  memory: WebAssembly.Memory,
  tensors: Record<string, Address>,
  like: Weights,
): Weights {
  const read: Weights = {};
  for (const [name, { shape, data }] of Object.entries(like)) {
    const at = tensors[name];
    if (at === undefined) throw new Error(`the model has no tensor ${name}`);
    const copy = new Float32Array(data.length);
    copy.set(new Float32Array(memory.buffer, at, data.length));
    read[name] = { shape, data: copy };
  }
  return read;
}
