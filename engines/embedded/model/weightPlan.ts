import { type Dimensions, projectionSizes } from "../../llama/dimensions.ts";
import { type ReadWeights, widened } from "../../llama/storedWeights.ts";
import {
  type Projection,
  type Weights,
  EMBEDDING,
  FINAL_NORM,
  HEAD,
  headNormName,
  normName,
  projectionName,
} from "../../llama/weights.ts";
import type { Arena, Purpose } from "../kernels/arena.ts";
import type { Address } from "../kernels/kernels.ts";
import type { Matrix } from "../kernels/operations.ts";

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
  /** [out] of each map with a projection that has one; 0 where another has none. */
  biases: Partial<Record<MapName, Address>>;
  /** [size] each. */
  headNorms: { q: Address; k: Address } | undefined;
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
  tensors: Places;
}

/** Where each tensor of a checkpoint lies, by its name. */
export type Places = Record<string, Place>;

interface Place {
  at: Address;
  /** Whether its numbers are bfloat16. */
  half?: boolean;
}

const NONE: ReadonlySet<string> = new Set();

/**
 * @param bfloat16 names of the tensors that are; a matrix of theirs alone stays so. Norms are
 * always of float32
 */
export function planWeights(
  arena: Arena,
  purpose: Purpose,
  d: Dimensions,
  bfloat16: ReadonlySet<string> = NONE,
): WeightPlan {
  const groups: Group[] = [];
  const tensors: Places = {};

  /** A matrix of tensors that have these numbers of rows, by their names. */
  function matrix(rows: Record<string, number>, inner: number): Matrix {
    const half = Object.keys(rows).every((name) => bfloat16.has(name));
    const rowBytes = inner * (half ? 2 : 4);
    const out = Object.values(rows).reduce((sum, count) => sum + count, 0);
    const at = arena.bytes(purpose, out * rowBytes);
    groups.push({ at, count: out * inner, decays: true });
    let next = at;
    for (const [name, count] of Object.entries(rows)) {
      tensors[name] = { at: next, half };
      next += count * rowBytes;
    }
    return { at, out, in: inner, half };
  }
  function vector(name: string, at: Address, count: number): void {
    groups.push({ at, count, decays: false });
    tensors[name] = { at };
  }
  function norm(name: string, count = d.width): Address {
    const at = arena.words(purpose, count);
    vector(name, at, count);
    return at;
  }
  function headNorms(layer: number) {
    const norms = (part: "q" | "k") => norm(headNormName(layer, part), d.size);
    return d.headNorms ? { q: norms("q"), k: norms("k") } : undefined;
  }
  function biases(layer: number): BlockPlan["biases"] {
    const found: BlockPlan["biases"] = {};
    for (const [map, projections] of Object.entries(MAPS) as [MapName, Projection[]][]) {
      if (!projections.some((one) => d.biases.includes(one))) continue;
      const counts = projections.map((one) => projectionSizes(one, d)[0]);
      let at = arena.words(
        purpose,
        counts.reduce((sum, count) => sum + count, 0),
      );
      found[map] = at;
      projections.forEach((one, i) => {
        const count = counts[i] ?? 0;
        if (d.biases.includes(one)) vector(`${projectionName(layer, one)}.bias`, at, count);
        at += count * 4;
      });
    }
    return found;
  }
  function map(layer: number, name: MapName): Matrix {
    const rows: Record<string, number> = {};
    let inner = 0;
    for (const projection of MAPS[name]) {
      const [out, columns] = projectionSizes(projection, d);
      rows[`${projectionName(layer, projection)}.weight`] = out;
      inner = columns;
    }
    return matrix(rows, inner);
  }

  const embedding = matrix({ [EMBEDDING]: d.vocabulary }, d.width);
  const head = d.tied ? embedding : matrix({ [HEAD]: d.vocabulary }, d.width);
  const blocks = Array.from({ length: d.layers }, (_, layer): BlockPlan => ({
    inputNorm: norm(normName(layer, "input")),
    postNorm: norm(normName(layer, "post_attention")),
    maps: {
      qkv: map(layer, "qkv"),
      o: map(layer, "o"),
      gateUp: map(layer, "gateUp"),
      down: map(layer, "down"),
    },
    biases: biases(layer),
    headNorms: headNorms(layer),
  }));
  return { embedding, head, finalNorm: norm(FINAL_NORM), blocks, groups, tensors };
}

/** Reads weights into the memory: those of the type that they have there without a copy. */
export function writeTensors(
  { buffer }: WebAssembly.Memory,
  tensors: Places,
  read: ReadWeights,
): void {
  const placed = new Set<string>();
  const rest = read((name, count, isBfloat16) => {
    const place = tensors[name];
    if (!place || (place.half ?? false) !== isBfloat16) return undefined;
    placed.add(name);
    if (isBfloat16) return new Uint16Array(buffer, place.at, count);
    return new Float32Array(buffer, place.at, count);
  });
  for (const [name, { at, half }] of Object.entries(tensors)) {
    if (placed.has(name)) continue;
    const tensor = rest[name];
    if (!tensor) throw new Error(`the model has no tensor ${name}`);
    if (half) new Uint16Array(buffer, at, tensor.data.length).set(tensor.data);
    else new Float32Array(buffer, at, tensor.data.length).set(widened(tensor));
  }
}

/** Float32 tensors where they lie, by their dimensions: what changes there, changes in them. */
export function tensorsAt(
  { buffer }: WebAssembly.Memory,
  tensors: Places,
  shapes: Record<string, number[]>,
): Weights {
  const found: Weights = {};
  for (const [name, shape] of Object.entries(shapes)) {
    const place = tensors[name];
    if (!place) throw new Error(`the model has no tensor ${name}`);
    const count = shape.reduce((product, size) => product * size, 1);
    found[name] = { shape, data: new Float32Array(buffer, place.at, count) };
  }
  return found;
}
