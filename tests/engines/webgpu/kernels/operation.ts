import type { Sequence } from "../../../../engines/examples/examples.ts";
import type { Layers } from "../../../../engines/families/layers.ts";
import { dequantize, quantize } from "../../../../engines/modelFiles/blocks/blockType.ts";
import { q8_0 } from "../../../../engines/modelFiles/blocks/q8_0.ts";
import { inMemoryTensors } from "../../../../engines/modelFiles/tensors.ts";
import { type Weights, toBfloat16, widened } from "../../../../engines/modelFiles/weights.ts";
import {
  type DeviceArray,
  createArrays,
  wholeSlice,
} from "../../../../engines/webgpu/device/array.ts";
import type { Device } from "../../../../engines/webgpu/device/device.ts";
import type { Dispatch } from "../../../../engines/webgpu/device/dispatch.ts";
import type { StoredType } from "../../../../engines/webgpu/kernels/stored.ts";
import { createGraph } from "../../../../engines/webgpu/model/graph.ts";
import { createLayers } from "../../../../engines/webgpu/model/planModel.ts";
import {
  readTrained,
  writeFrozen,
  writeTrained,
} from "../../../../engines/webgpu/model/writeTensors.ts";
import { writeBatch } from "../../../../engines/webgpu/step/batch.ts";
import { difference, numbers } from "../../numbers.ts";
import {
  type Parameter,
  type Rows,
  createPlainLayers,
  softmax,
} from "../../training/plainLayers.ts";
import type { Change } from "./shuffled.ts";

/** An operation of some sizes, forward and backward. */
export interface Operation {
  name: string;
  /** Tokens of each sequence. */
  lengths: readonly number[];
  /** Columns of each input. */
  widths?: readonly number[];
  /** Shapes of its tensors, by name. */
  tensors?: Record<string, number[]>;
  build: <X>(layers: Layers<X>, ...inputs: X[]) => X | void;
  /** With it, only LoRA's tensors are trained, and matrices are stored so. */
  type?: StoredType;
  /** Words of the largest binding of a tensor. */
  maxWords?: number;
  /** Different tokens. Default: 1. */
  vocabulary?: number;
  /** Of its inputs; they reach that far from 0. */
  magnitude?: number;
  isCentered?: boolean;
  /** Whether later operations have already added to the first input's gradient. */
  isResidual?: boolean;
  isTied?: boolean;
}

/** Named arrays of an operation's results and gradients. */
export type Results = Record<string, ArrayLike<number>>;

const EPSILON = 1e-5;
/** LoRA's alpha / r. */
const SCALE = 0.5;
/** Of sums of a few hundred products, relative to the largest number. */
const TOLERANCE = 1e-5;
/** Rows of arrays beyond a batch's, whose numbers are NaN. */
const MORE_ROWS = 3;

/** What an operation starts from: its inputs, tensors and the gradients of its result. */
function dataOf(one: Operation) {
  const { lengths, widths = [], tensors = {}, vocabulary = 1, magnitude = 1, type } = one;
  const tokens = lengths.reduce((sum, length) => sum + length, 0);
  const sequences = lengths.map((length, s): Sequence => {
    const seed = numbers(length + 1, 50 + s);
    return {
      tokens: Uint16Array.from(seed, (value) => Math.floor(((value + 1) / 2) * vocabulary)),
      learned: Uint8Array.from(seed, (_, i) => Number(i > 0 && i % 3 !== 2)),
    };
  });
  const weights: Weights = Object.fromEntries(
    Object.entries(tensors).map(([name, shape], i) => [
      name,
      {
        shape,
        data: numbers(
          shape.reduce((a, b) => a * b),
          10 + i,
        ),
      },
    ]),
  );
  const isTrained = (name: string) => type === undefined || name.includes(".lora_");
  const pick = (trained: boolean) =>
    Object.fromEntries(Object.entries(weights).filter(([name]) => isTrained(name) === trained));
  const selected = sequences.reduce((sum, { learned }) => sum + learned.reduce((a, b) => a + b), 0);
  return {
    tokens,
    sequences,
    selected,
    trained: pick(true),
    frozen: pick(false),
    inputs: widths.map((width, i) => numbers(tokens * width, i).map((value) => magnitude * value)),
    before: numbers(tokens * (widths[0] ?? 0), 30),
    lossWeights: numbers(selected, 31).map((value, i) => (i % 5 === 4 ? 0 : value)),
    gradient: (count: number) => numbers(count, 32),
  };
}

/** Runs an operation on a GPU. @param change applied to each call */
export async function onGpu(device: Device, one: Operation, change: Change): Promise<Results> {
  const { widths = [], type, maxWords = device.maxWords, isCentered = false, isTied = false } = one;
  const data = dataOf(one);
  const arrays = createArrays();
  const rank = Object.entries(data.trained).find(([name]) => name.includes("lora_A"))?.[1].shape[0];
  const { graph, plan } = createGraph(arrays, {
    limits: {
      tokens: data.tokens + MORE_ROWS,
      selected: data.selected + MORE_ROWS,
      longest: Math.max(...one.lengths),
    },
    recompute: { cheap: false, segments: 0 },
    maxWords,
    bfloat16: new Set(type === "bf16" ? Object.keys(data.frozen) : []),
    typeOf: () => type ?? "f32",
    lora: type && { r: rank ?? 1, alpha: SCALE * (rank ?? 1), targetModules: rank ? ["t"] : [] },
  });
  const { layers, head } = createLayers(graph, { epsilon: EPSILON, isCentered, tied: isTied });
  const { isResidual = false } = one;
  const inputs = widths.map((width, i) =>
    graph.activation("tokens", width, { isResidual: isResidual && i === 0 }),
  );
  const y = one.build(layers, ...inputs) ?? undefined;
  await device.allocate(arrays.arrays);
  for (const array of arrays.arrays)
    device.write(array, 0, new Float32Array(array.words).fill(NaN));
  await writeTrained(device, plan.tensors, "weights", data.trained);
  const stored = Object.entries(data.frozen).map(([name, { shape, data }]) => {
    return [name, { shape, data: type === "bf16" ? toBfloat16(data) : data }] as const;
  });
  await writeFrozen(device, plan.tensors, inMemoryTensors(Object.fromEntries(stored)));
  for (const { array, values } of plan.constants) device.write(array, 0, values());
  writeBatch(device, plan.batch, data.sequences);
  inputs.forEach(({ array }, i) => device.write(array, 0, data.inputs[i]!));
  if (y) device.write(y.grad, 0, data.gradient(data[y.rows] * y.width));
  if (isResidual) device.write(inputs[0]!.grad, 0, data.before);
  device.write(plan.batch.lossWeights, 0, data.lossWeights);

  const run = (calls: Dispatch[]) => device.run(calls.map(change));
  const operations = plan.segments.flatMap((segment) => segment.operations);
  const backward = (adds: boolean) => [
    ...head().backward(adds),
    ...operations.toReversed().flatMap((operation) => operation.backward(adds)),
  ];
  run(operations.flatMap(({ forward }) => forward));
  run(head().loss);
  const read = async (name: string, array: DeviceArray) => {
    const [found] = await device.read([wholeSlice(array)]);
    return [name, found!] as const;
  };
  const results = y ? [await read("y", y.array)] : [await read("losses", plan.batch.losses)];
  run(backward(false));
  for (const [i, { grad }] of inputs.entries()) results.push(await read(`dx${i}`, grad));
  const shapes = Object.fromEntries(
    Object.entries(data.trained).map(([name, { shape }]) => [name, shape]),
  );
  const gradients = async (suffix: string) =>
    Object.entries(await readTrained(device, plan.tensors, "gradients", shapes)).map(
      ([name, { data }]) => [`d ${name}${suffix}`, data] as const,
    );
  results.push(...(await gradients("")));
  run(backward(true));
  results.push(...(await gradients(", added")));
  return Object.fromEntries(results);
}

/** The same by plain loops. */
export function byLoops(one: Operation): Results {
  const { widths = [], type, isCentered = false, isResidual = false } = one;
  const data = dataOf(one);
  const parameters = Object.fromEntries(
    Object.entries({ ...data.frozen, ...data.trained }).map(([name, { shape, data: exact }]) => {
      const isFrozen = name in data.frozen;
      // Frozen vectors are float32 on the GPU, but may come in bfloat16.
      const stored =
        isFrozen && (shape.length > 1 || type === "bf16") ? asStored(exact, type) : exact;
      return [name, { data: stored, grad: isFrozen ? undefined : new Float64Array(exact.length) }];
    }),
  ) satisfies Record<string, Parameter>;
  const results: Record<string, number[]> = {};
  const add = (name: string, rows: readonly (readonly number[])[]) =>
    (results[name] ??= []).push(...rows.flat());
  const rowsOf = (values: ArrayLike<number>, width: number, first: number, count: number) =>
    Array.from({ length: count }, (_, r) =>
      Array.from({ length: width }, (_, c) => values[(first + r) * width + c]!),
    );
  let [from, selectedFrom] = [0, 0];
  for (const { tokens, learned } of data.sequences) {
    const length = tokens.length - 1;
    const positions = Array.from({ length }, (_, i) => i);
    const selected = positions.filter((i) => learned[i + 1] === 1);
    const plain = createPlainLayers({
      tokens: [...tokens.subarray(0, length)],
      selected,
      epsilon: EPSILON,
      hasCenteredNorms: isCentered,
      parameter: (name) => parameters[name],
      scale: SCALE,
    });
    const inputs = widths.map((width, i) =>
      plain.input(rowsOf(data.inputs[i]!, width, from, length)),
    );
    const y = one.build(plain.layers, ...inputs) as Rows | undefined;
    if (y) {
      const width = y.rows[0]?.length ?? 0;
      const first = (results["y"]?.length ?? 0) / width;
      add("y", y.rows);
      const gradients = data.gradient((first + y.rows.length) * width);
      plain.backward(y, rowsOf(gradients, width, first, y.rows.length));
    } else {
      const logits = plain.logits();
      const weightOf = (i: number) => data.lossWeights[selectedFrom + i]!;
      const probabilities = logits.rows.map(softmax);
      const target = (i: number) => tokens[selected[i]! + 1]!;
      add(
        "losses",
        probabilities.map((row, i) => [-weightOf(i) * Math.log(row[target(i)]!)]),
      );
      plain.backward(
        logits,
        probabilities.map((row, i) =>
          row.map((p, id) => weightOf(i) * (p - Number(id === target(i)))),
        ),
      );
    }
    inputs.forEach(({ grads }, i) => {
      const before = rowsOf(data.before, widths[0]!, from, length);
      const isAdded = isResidual && i === 0;
      add(
        `dx${i}`,
        grads.map((row, r) => row.map((value, c) => value + (isAdded ? before[r]![c]! : 0))),
      );
    });
    from += length;
    selectedFrom += selected.length;
  }
  for (const [times, suffix] of [
    [1, ""],
    [2, ", added"],
  ] as const) {
    for (const [name, { grad }] of Object.entries(parameters))
      if (grad) results[`d ${name}${suffix}`] = Array.from(grad, (value) => times * value);
  }
  return results;
}

/** What is wrong with results: numbers that differ, and writes beyond the batch. */
export function faultsIn(found: Results, wanted: Results): string[] {
  return Object.entries(found).flatMap(([name, values]) => {
    const right = wanted[name] ?? [];
    const own = Array.from(values).slice(0, right.length);
    const off = difference(own, right) / Math.max(1, ...Array.from(right, Math.abs));
    const isBeyond = Array.from(values)
      .slice(right.length)
      .some((value) => !Number.isNaN(value));
    return [
      ...(off < TOLERANCE ? [] : [`${name} is off by ${off}`]),
      ...(isBeyond ? [`${name} is written beyond the batch`] : []),
    ];
  });
}

/** A matrix's numbers as a type stores them. */
function asStored(data: Float32Array, type: StoredType | undefined): Float32Array {
  if (type === "bf16") return widened(toBfloat16(data));
  return type === "q8_0" ? dequantize(q8_0, quantize(q8_0, data)) : data;
}
