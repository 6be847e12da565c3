import type { LoraConfig } from "../../../protocol/trainConfig.ts";
import type { LinearLayer } from "../../families/layers.ts";
import { type Arrays, type DeviceArray, type Purpose, SLICE_WORDS } from "../device/array.ts";
import { type StoredType, Q8_BLOCK } from "../kernels/stored.ts";
import type {
  Graph,
  LoraUpdates,
  MatrixPart,
  MatrixWeight,
  VectorWeight,
} from "../ops/operation.ts";

/** How a model's tensors are stored. */
export interface TensorOptions {
  /** Names of the bfloat16 tensors; frozen matrices of only these stay bfloat16. */
  bfloat16: ReadonlySet<string> | undefined;
  /** With it, only the adapter is trained. */
  lora: LoraConfig | undefined;
  /** A frozen matrix's type. Default: unchanged. */
  typeOf?: ((name: string, columns: number) => string) | undefined;
  /** Words of the adapter's largest binding. */
  maxWords: number;
}

const PURPOSES = {
  weights: "weights",
  gradients: "gradients",
  firstMoments: "moments",
  secondMoments: "moments",
} as const satisfies Record<string, Purpose>;

/** The arrays of a trained tensor. */
export type TrainedArray = keyof typeof PURPOSES;

/** Trained parameters with the same weight decay, side by side in each array. */
export interface TrainedPage extends Record<TrainedArray, DeviceArray> {
  words: number;
  /** Matrices decay, vectors do not. */
  decays: boolean;
}

/** A tensor's rows in a matrix, or a vector. */
export type TensorAddress = { matrix: MatrixWeight; row: number; rows: number } | VectorWeight;

/** A trained tensor's ranges of pages, in order. */
export type TrainedRanges = readonly { page: TrainedPage; from: number; words: number }[];

export interface TensorPlan {
  pages: TrainedPage[];
  frozen: Record<string, TensorAddress>;
  trained: Record<string, TrainedRanges>;
}

/** Reserves tensors as a model's operations request them. */
export function createTensors(
  arrays: Arrays,
  { bfloat16, lora, typeOf, maxWords }: TensorOptions,
): Pick<Graph, "matrix" | "vector" | "lora"> & { plan: TensorPlan } {
  const plan: TensorPlan = { pages: [], frozen: {}, trained: {} };
  const matrices = new Map<string, MatrixWeight>();

  /** A range of a page that has room for it, or of a new one. */
  function reserveTrained(words: number, decays: boolean): TrainedRanges[number] {
    const last = plan.pages.findLast((page) => page.decays === decays);
    const isRoom = last && aligned(last.words) + words <= maxWords;
    const page = isRoom ? last : { ...newArrays(), words: 0, decays };
    if (!isRoom) plan.pages.push(page);
    const from = aligned(page.words);
    page.words = from + words;
    for (const array of TRAINED_ARRAYS) page[array].words = page.words;
    return { page, from, words };
  }

  function newArrays(): Record<TrainedArray, DeviceArray> {
    const made = TRAINED_ARRAYS.map((array) => [array, arrays.add(PURPOSES[array], 1)]);
    return Object.fromEntries(made) as Record<TrainedArray, DeviceArray>;
  }

  /** Splits rows where a binding would be too large. */
  function split(
    out: number,
    rowWords: number,
    reserve: (rows: number) => Omit<MatrixPart, "first" | "rows">,
  ) {
    // An even number, because two bfloat16 numbers share a word.
    const most = Math.max(2, Math.floor(maxWords / rowWords / 2) * 2);
    const parts: MatrixPart[] = [];
    for (let first = 0; first < out; first += most) {
      const rows = Math.min(most, out - first);
      parts.push({ first, rows, ...reserve(rows) });
    }
    return parts;
  }

  function trainedMatrix(tensors: Record<string, number>, inner: number): MatrixWeight {
    const out = sumOf(Object.values(tensors));
    const ranges: TrainedRanges[number][] = [];
    const parts = split(out, inner, (rows) => {
      const range = reserveTrained(rows * inner, true);
      ranges.push(range);
      return { ...slicesOf(range), scales: 0 };
    });
    let row = 0;
    for (const [name, rows] of Object.entries(tensors)) {
      plan.trained[name] = parts.flatMap(({ first, rows: count }, i) => {
        const start = Math.max(row, first);
        const end = Math.min(row + rows, first + count);
        const { page, from } = ranges[i]!;
        return end > start
          ? [{ page, from: from + (start - first) * inner, words: (end - start) * inner }]
          : [];
      });
      row += rows;
    }
    return { type: "f32", out, in: inner, parts, isTrained: true };
  }

  function frozenMatrix(tensors: Record<string, number>, inner: number): MatrixWeight {
    const names = Object.keys(tensors);
    const out = sumOf(Object.values(tensors));
    const type = storedType(names, inner);
    const rowWords = inner * WORDS[type];
    const parts = split(out, rowWords, (rows) => {
      const array = arrays.add("weights", Math.ceil(rows * rowWords));
      const weights = { array, from: 0, words: array.words };
      return { weights, scales: type === "q8_0" ? (rows * inner) / 4 : 0, gradients: undefined };
    });
    const matrix = { type, out, in: inner, parts, isTrained: false };
    let row = 0;
    for (const [name, rows] of Object.entries(tensors)) {
      plan.frozen[name] = { matrix, row, rows };
      row += rows;
    }
    return matrix;
  }

  function storedType(names: readonly string[], inner: number): StoredType {
    if (names.every((name) => typeOf?.(name, inner) === "q8_0")) return "q8_0";
    return inner % 2 === 0 && names.every((name) => bfloat16?.has(name)) ? "bf16" : "f32";
  }

  function matrix(tensors: Record<string, number>, inner: number): MatrixWeight {
    const key = Object.keys(tensors).join();
    const made = matrices.get(key) ?? (lora ? frozenMatrix : trainedMatrix)(tensors, inner);
    matrices.set(key, made);
    return made;
  }

  function vector(name: string, words: number): VectorWeight {
    if (!lora) {
      const range = reserveTrained(words, false);
      plan.trained[name] = [range];
      return slicesOf(range);
    }
    const array = arrays.add("weights", words);
    const made = { weights: { array, from: 0, words }, gradients: undefined };
    plan.frozen[name] = made;
    return made;
  }

  function updates(linears: readonly LinearLayer[], inner: number): LoraUpdates | undefined {
    const adapted = linears.filter(({ target }) => lora?.targetModules.includes(target));
    if (!lora || adapted.length === 0) return undefined;
    const { r, alpha } = lora;
    const rows = adapted.map(({ name }) => [`${name}.lora_A.weight`, r] as const);
    const b = linears.map((linear) =>
      adapted.includes(linear)
        ? trainedMatrix({ [`${linear.name}.lora_B.weight`]: linear.out }, r)
        : undefined,
    );
    return { a: trainedMatrix(Object.fromEntries(rows), inner), b, scale: alpha / r };
  }

  return { matrix, vector, lora: updates, plan };
}

export const TRAINED_ARRAYS = Object.keys(PURPOSES) as TrainedArray[];

/** Words of a number. */
const WORDS: Record<StoredType, number> = { f32: 1, bf16: 1 / 2, q8_0: 1 / 4 + 1 / Q8_BLOCK };

function slicesOf({ page, from, words }: TrainedRanges[number]): VectorWeight {
  const slice = (array: TrainedArray) => ({ array: page[array], from, words });
  return { weights: slice("weights"), gradients: slice("gradients") };
}

function aligned(words: number): number {
  return Math.ceil(words / SLICE_WORDS) * SLICE_WORDS;
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
