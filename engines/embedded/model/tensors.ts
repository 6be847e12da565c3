import type { LoraConfig } from "../../../protocol/trainConfig.ts";
import { bytesOf, isBlockType } from "../../modelFiles/numberTypes.ts";
import { type TensorSource, parts } from "../../modelFiles/tensors.ts";
import { type Numbers, type Weights, widened } from "../../modelFiles/weights.ts";
import type { Arena, Purpose } from "../kernels/arena.ts";
import type { Address } from "../kernels/kernels.ts";
import { type Matrix, PANEL } from "../kernels/products.ts";
import {
  type QuantizedMatrix,
  type TakeRows,
  GROUP,
  quantizedBytes,
} from "../kernels/quantized.ts";
import type { Graph, MatrixWeight, VectorWeight } from "../ops/operation.ts";

/** What becomes of a model's tensors. */
export interface TensorOptions {
  /** Names of those that are bfloat16; a matrix of theirs alone stays so. Vectors are always float32. */
  bfloat16?: ReadonlySet<string> | undefined;
  /** With it, only the adapter is trained. */
  lora?: LoraConfig | undefined;
  isTrained: boolean;
  /** Whether matrices are to lie in panels, as an answering model's do. Default: row-major. */
  inPanels?: boolean;
  /** The type that a frozen matrix becomes while it is read. Default: it stays as it is. */
  typeOf?: (name: string, columns: number) => string | undefined;
}

/** The arrays of a trained tensor, which lie alike: its numbers, their gradient, AdamW's running means. */
export type TrainedArray = "weights" | "gradients" | "firstMoments" | "secondMoments";

/** Trained numbers that lie together and are updated alike. */
export interface TrainedGroup extends Record<TrainedArray, Address> {
  count: number;
  /** Matrices decay, vectors do not. */
  decays: boolean;
}

/** Where a model's tensors lie in memory. */
export interface TensorPlan {
  groups: TrainedGroup[];
  /** Frozen ones, each of one or several tensors. */
  matrices: Matrix[];
  /** By their names: the model's, or of an adapter alone. */
  frozen: Places;
  /** For each array of theirs. */
  trained: Record<TrainedArray, Places>;
}

/** Where tensors lie, by their names. */
export type Places = Record<string, Place>;

interface Place {
  at: Address;
  isBf16?: boolean;
  /** The quantized matrix that it is a part of, from this row on. */
  part?: { matrix: QuantizedMatrix; row: number };
}

const PURPOSES = {
  weights: "weights",
  gradients: "gradients",
  firstMoments: "moments",
  secondMoments: "moments",
} as const satisfies Record<TrainedArray, Purpose>;

const ARRAYS = Object.keys(PURPOSES) as TrainedArray[];

/** Places tensors as the operations of a model ask for them. */
export function createTensors(
  arena: Arena,
  { bfloat16, lora, isTrained, inPanels = false, typeOf }: TensorOptions,
): Pick<Graph, "matrix" | "vector" | "lora"> & { plan: TensorPlan } {
  const trained = Object.fromEntries(ARRAYS.map((array) => [array, {}])) as TensorPlan["trained"];
  const plan: TensorPlan = { groups: [], matrices: [], frozen: {}, trained };
  const matrices = new Map<string, MatrixWeight>();
  const isBaseTrained = isTrained && !lora;

  /** Places the arrays of numbers that are trained. */
  function trainedGroup(count: number, decays: boolean): TrainedGroup {
    const places = ARRAYS.map((array) => [array, arena.words(PURPOSES[array], count)]);
    const group = {
      ...(Object.fromEntries(places) as Record<TrainedArray, Address>),
      count,
      decays,
    };
    plan.groups.push(group);
    return group;
  }
  /** Notes where a tensor lies, so many numbers behind the start of its group. */
  function place(name: string, group: TrainedGroup, from: number): void {
    for (const array of ARRAYS) trained[array][name] = { at: group[array] + from * 4 };
  }

  function trainedMatrix(tensors: Record<string, number>, inner: number): MatrixWeight {
    const out = sumOf(Object.values(tensors));
    const group = trainedGroup(out * inner, true);
    let from = 0;
    for (const [name, rows] of Object.entries(tensors)) {
      place(name, group, from);
      from += rows * inner;
    }
    return { at: group.weights, out, in: inner, grad: { at: group.gradients, out, in: inner } };
  }

  function frozenMatrix(tensors: Record<string, number>, inner: number): MatrixWeight {
    const quantized = quantizedMatrix(tensors, inner);
    if (quantized) return quantized;
    const isBf16 = Object.keys(tensors).every((name) => bfloat16?.has(name));
    const rowBytes = inner * (isBf16 ? 2 : 4);
    const out = sumOf(Object.values(tensors));
    const rows = inPanels ? Math.ceil(out / PANEL) * PANEL : out;
    const at = arena.bytes("weights", rows * rowBytes);
    let next = at;
    for (const [name, rows] of Object.entries(tensors)) {
      plan.frozen[name] = { at: next, isBf16 };
      next += rows * rowBytes;
    }
    const matrix = { at, out, in: inner, isBf16, grad: undefined };
    plan.matrices.push(matrix);
    return matrix;
  }

  /** Undefined for tensors whose rows are not whole blocks, or groups. */
  function quantizedMatrix(
    tensors: Record<string, number>,
    inner: number,
  ): MatrixWeight | undefined {
    const parts: QuantizedMatrix[] = [];
    const entries = Object.entries(tensors);
    const isWhole = entries.every(([, rows]) => rows % GROUP === 0) || entries.length === 1;
    const types = entries.map(([name]) => typeOf?.(name, inner) ?? "").filter(isBlockType);
    if (!isWhole || types.length < entries.length) return undefined;
    for (const [i, [, rows]] of entries.entries()) {
      const [type, last] = [types[i]!, parts.at(-1)];
      if (last?.type === type) last.out += rows;
      else parts.push({ type, at: 0, out: rows, in: inner });
    }
    for (const part of parts)
      part.at = arena.bytes("weights", quantizedBytes(part.type, part.out, inner));
    let [p, row] = [0, 0];
    for (const [name, rows] of entries) {
      plan.frozen[name] = { at: parts[p]!.at, part: { matrix: parts[p]!, row } };
      row += rows;
      if (row === parts[p]!.out) [p, row] = [p + 1, 0];
    }
    const out = sumOf(Object.values(tensors));
    return { at: parts[0]!.at, out, in: inner, quantized: parts, grad: undefined };
  }

  function matrix(tensors: Record<string, number>, inner: number): MatrixWeight {
    const key = Object.keys(tensors).join();
    const made =
      matrices.get(key) ??
      (isBaseTrained ? trainedMatrix(tensors, inner) : frozenMatrix(tensors, inner));
    matrices.set(key, made);
    return made;
  }

  function vector(tensors: readonly [name: string | undefined, count: number][]): VectorWeight {
    const total = sumOf(tensors.map(([, count]) => count));
    // The zeros of an absent tensor are not trained, so each tensor gets its own group.
    const at = arena.words("weights", total);
    const grad = isBaseTrained ? arena.words("gradients", total) : undefined;
    let from = 0;
    for (const [name, count] of tensors) {
      if (name !== undefined && grad === undefined) plan.frozen[name] = { at: at + from * 4 };
      if (name !== undefined && grad !== undefined) {
        const group: TrainedGroup = {
          ...{ weights: at + from * 4, gradients: grad + from * 4, count, decays: false },
          firstMoments: arena.words("moments", count),
          secondMoments: arena.words("moments", count),
        };
        plan.groups.push(group);
        place(name, group, 0);
      }
      from += count;
    }
    return { at, grad };
  }

  const adapted: Graph["lora"] = (name, target, out, inner) => {
    if (!lora?.targetModules.includes(target)) return undefined;
    const { r, alpha } = lora;
    return {
      a: trainedMatrix({ [`${name}.lora_A.weight`]: r }, inner),
      b: trainedMatrix({ [`${name}.lora_B.weight`]: out }, r),
      scale: alpha / r,
    };
  };

  return { matrix, vector, lora: adapted, plan };
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Quantizes rows of a matrix, from one on, as they are read. */
export type QuantizeRows = (matrix: QuantizedMatrix, row: number) => TakeRows;

/** Reads weights into the memory, part by part. */
export function writeTensors(
  { buffer }: WebAssembly.Memory,
  places: Places,
  source: TensorSource,
  quantizeRows?: QuantizeRows,
): void {
  const room = { buffer: new ArrayBuffer(0) };
  const { tensors, rows, blocks } = source;
  for (const [name, place] of Object.entries(places)) {
    const { part } = place;
    const take = part && quantizeRows?.(part.matrix, part.row);
    const isStored = tensors.get(name)?.type === part?.matrix.type;
    if (take && isStored && blocks) {
      for (const some of parts({ tensors, rows: blocks }, name, { room })) take(some);
    } else {
      const put = take ?? rowsInto(buffer, place);
      for (const some of parts({ tensors, rows }, name, { room })) put(some);
    }
  }
}

function rowsInto(buffer: ArrayBufferLike, { at, isBf16 = false }: Place): (rows: Numbers) => void {
  let next = at;
  return (rows) => {
    const bytes = bytesOf(isBf16 ? rows : widened(rows));
    new Uint8Array(buffer, next, bytes.length).set(bytes);
    next += bytes.length;
  };
}

/** Float32 tensors where they lie, by their dimensions: what changes there, changes in them. */
export function tensorsAt(
  { buffer }: WebAssembly.Memory,
  places: Places,
  shapes: Record<string, number[]>,
): Weights {
  const found: Weights = {};
  for (const [name, shape] of Object.entries(shapes)) {
    const place = places[name];
    if (!place) throw new Error(`the model has no tensor ${name}`);
    const count = shape.reduce((product, size) => product * size, 1);
    found[name] = { shape, data: new Float32Array(buffer, place.at, count) };
  }
  return found;
}
