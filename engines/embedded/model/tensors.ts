import type { LoraConfig } from "../../../protocol/trainConfig.ts";
import { planUpdates } from "../../lora/updateMatrices.ts";
import { bytesOf, isBlockType } from "../../modelFiles/numberTypes.ts";
import { type TensorSource, chunks } from "../../modelFiles/tensors.ts";
import { type Numbers, type Weights, widened } from "../../modelFiles/weights.ts";
import type { Arena, Purpose } from "../kernels/arena.ts";
import type { Address } from "../kernels/kernels.ts";
import { type Matrix, PANEL } from "../kernels/matmuls.ts";
import {
  type QuantizedMatrix,
  type RowWriter,
  GROUP,
  quantizedBytes,
} from "../kernels/quantized.ts";
import type { Graph, MatrixWeight, VectorWeight } from "../ops/operation.ts";

/** How a model's tensors are stored. */
export interface TensorOptions {
  /** Names of the bfloat16 tensors; matrices of only these stay bfloat16. Vectors are always float32. */
  bfloat16?: ReadonlySet<string> | undefined;
  /** If set, only the adapter is trained. */
  lora?: LoraConfig | undefined;
  /** Whether there is memory for gradients and moments. */
  isTrained: boolean;
  /** Whether matrices are in panels, for inference. Default: row-major. */
  inPanels?: boolean;
  /** A frozen matrix's type in memory. Default: unchanged. */
  typeOf?: (name: string, columns: number) => string | undefined;
}

/** The arrays of a trained tensor, all with the same layout. */
export type TrainedArray = "weights" | "gradients" | "firstMoments" | "secondMoments";

/** Adjacent trained parameters with the same weight decay. */
export interface TrainedGroup extends Record<TrainedArray, Address> {
  count: number;
  /** Matrices decay, vectors do not. */
  decays: boolean;
}

/** Addresses of a model's tensors. */
export interface TensorPlan {
  groups: TrainedGroup[];
  /** Frozen matrices, each of one or several tensors. */
  matrices: Matrix[];
  frozen: TensorAddresses;
  /** Trained tensors: the model's, or an adapter's alone. */
  trained: Record<TrainedArray, TensorAddresses>;
}

export type TensorAddresses = Record<string, TensorAddress>;

interface TensorAddress {
  at: Address;
  isBf16?: boolean;
  /** If it is quantized: the matrix that contains it, and its first row there. */
  slice?: { matrix: QuantizedMatrix; row: number };
}

const PURPOSES = {
  weights: "weights",
  gradients: "gradients",
  firstMoments: "moments",
  secondMoments: "moments",
} as const satisfies Record<TrainedArray, Purpose>;

const ARRAYS = Object.keys(PURPOSES) as TrainedArray[];

/** Reserves tensors as a model's operations request them. */
export function createTensors(
  arena: Arena,
  { bfloat16, lora, isTrained, inPanels = false, typeOf }: TensorOptions,
): Pick<Graph, "matrix" | "vector" | "lora"> & { plan: TensorPlan } {
  const trained = Object.fromEntries(ARRAYS.map((array) => [array, {}])) as TensorPlan["trained"];
  const plan: TensorPlan = { groups: [], matrices: [], frozen: {}, trained };
  const matrices = new Map<string, MatrixWeight>();
  const isBaseTrained = isTrained && !lora;

  /** Reserves the arrays of adjacent trained parameters. */
  function reserveGroup(count: number, decays: boolean): TrainedGroup {
    const addresses = ARRAYS.map((array) => [array, arena.reserveWords(PURPOSES[array], count)]);
    const group = {
      ...(Object.fromEntries(addresses) as Record<TrainedArray, Address>),
      count,
      decays,
    };
    plan.groups.push(group);
    return group;
  }
  /** Records a tensor's addresses, `from` elements into its group. */
  function recordAddresses(name: string, group: TrainedGroup, from: number): void {
    for (const array of ARRAYS) trained[array][name] = { at: group[array] + from * 4 };
  }

  function trainedMatrix(tensors: Record<string, number>, inner: number): MatrixWeight {
    const out = sumOf(Object.values(tensors));
    const group = reserveGroup(out * inner, true);
    let from = 0;
    for (const [name, rows] of Object.entries(tensors)) {
      recordAddresses(name, group, from);
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
    const at = arena.reserveBytes("weights", rows * rowBytes);
    let next = at;
    for (const [name, rows] of Object.entries(tensors)) {
      plan.frozen[name] = { at: next, isBf16 };
      next += rows * rowBytes;
    }
    const matrix = { at, out, in: inner, isBf16, grad: undefined };
    plan.matrices.push(matrix);
    return matrix;
  }

  /** Undefined unless all tensors are quantized and consist of whole groups of rows. */
  function quantizedMatrix(
    tensors: Record<string, number>,
    inner: number,
  ): MatrixWeight | undefined {
    const ranges: QuantizedMatrix[] = [];
    const entries = Object.entries(tensors);
    const isWhole = entries.every(([, rows]) => rows % GROUP === 0) || entries.length === 1;
    const types = entries.map(([name]) => typeOf?.(name, inner) ?? "").filter(isBlockType);
    if (!isWhole || types.length < entries.length) return undefined;
    for (const [i, [, rows]] of entries.entries()) {
      const [type, last] = [types[i]!, ranges.at(-1)];
      if (last?.type === type) last.out += rows;
      else ranges.push({ type, at: 0, out: rows, in: inner });
    }
    for (const slice of ranges)
      slice.at = arena.reserveBytes("weights", quantizedBytes(slice.type, slice.out, inner));
    let [index, row] = [0, 0];
    for (const [name, rows] of entries) {
      plan.frozen[name] = { at: ranges[index]!.at, slice: { matrix: ranges[index]!, row } };
      row += rows;
      if (row === ranges[index]!.out) [index, row] = [index + 1, 0];
    }
    const out = sumOf(Object.values(tensors));
    return { at: ranges[0]!.at, out, in: inner, quantized: ranges, grad: undefined };
  }

  function matrix(tensors: Record<string, number>, inner: number): MatrixWeight {
    const key = Object.keys(tensors).join();
    const reserved =
      matrices.get(key) ??
      (isBaseTrained ? trainedMatrix(tensors, inner) : frozenMatrix(tensors, inner));
    matrices.set(key, reserved);
    return reserved;
  }

  function vector(tensors: readonly [name: string | undefined, count: number][]): VectorWeight {
    const total = sumOf(tensors.map(([, count]) => count));
    // Each tensor has its own group, because the zeros of a missing bias aren't trained.
    const at = arena.reserveWords("weights", total);
    const grad = isBaseTrained ? arena.reserveWords("gradients", total) : undefined;
    let from = 0;
    for (const [name, count] of tensors) {
      if (name !== undefined && grad === undefined) plan.frozen[name] = { at: at + from * 4 };
      if (name !== undefined && grad !== undefined) {
        const group: TrainedGroup = {
          weights: at + from * 4,
          gradients: grad + from * 4,
          count,
          decays: false,
          firstMoments: arena.reserveWords("moments", count),
          secondMoments: arena.reserveWords("moments", count),
        };
        plan.groups.push(group);
        recordAddresses(name, group, 0);
      }
      from += count;
    }
    return { at, grad };
  }

  return { matrix, vector, lora: planUpdates(lora, trainedMatrix), plan };
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Creates a writer that quantizes rows into a matrix, from row `row` on. */
export type QuantizeRows = (matrix: QuantizedMatrix, row: number) => RowWriter;

/** Copies weights from a source into the memory, chunk by chunk. */
export function writeTensors(
  { buffer }: WebAssembly.Memory,
  addresses: TensorAddresses,
  source: TensorSource,
  quantizeRows?: QuantizeRows,
): void {
  const reused = { memory: new ArrayBuffer(0) };
  const { tensors, rows, blocks } = source;
  for (const [name, address] of Object.entries(addresses)) {
    const { slice } = address;
    const writeQuantized = slice && quantizeRows?.(slice.matrix, slice.row);
    const isStored = tensors.get(name)?.type === slice?.matrix.type;
    if (writeQuantized && isStored && blocks) {
      for (const chunk of chunks({ tensors, rows: blocks }, name, { buffer: reused }))
        writeQuantized(chunk);
    } else {
      const write = writeQuantized ?? createRowWriter(buffer, address);
      for (const chunk of chunks({ tensors, rows }, name, { buffer: reused })) write(chunk);
    }
  }
}

function createRowWriter(
  buffer: ArrayBufferLike,
  { at, isBf16 = false }: TensorAddress,
): (rows: Numbers) => void {
  let next = at;
  return (rows) => {
    const bytes = bytesOf(isBf16 ? rows : widened(rows));
    new Uint8Array(buffer, next, bytes.length).set(bytes);
    next += bytes.length;
  };
}

/** Views of float32 tensors in the memory. */
export function tensorsAt(
  { buffer }: WebAssembly.Memory,
  addresses: TensorAddresses,
  shapes: Record<string, number[]>,
): Weights {
  const views: Weights = {};
  for (const [name, shape] of Object.entries(shapes)) {
    const address = addresses[name];
    if (!address) throw new Error(`the model has no tensor ${name}`);
    const count = shape.reduce((product, size) => product * size, 1);
    views[name] = { shape, data: new Float32Array(buffer, address.at, count) };
  }
  return views;
}
