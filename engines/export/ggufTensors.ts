import { KitError } from "../../protocol/error.ts";
import type { GgufType } from "../../protocol/exportFormat.ts";
import type { Dimensions } from "../families/dimensions.ts";
import { EMBEDDING, HEAD } from "../families/projections.ts";
import { modelNames } from "../families/storedNames.ts";
import { weightShapes } from "../families/tensorShapes.ts";
import type { Architecture } from "../gguf/architecture.ts";
import type { NamedTensor } from "../gguf/header.ts";
import { encodeNumbers } from "../gguf/numbers.ts";
import { ropeFactors } from "../gguf/ropeFactors.ts";
import { interleaved } from "../gguf/rowOrder.ts";
import { ROPE_FACTORS, ggufName, isNorm } from "../gguf/tensorNames.ts";
import { TENSOR_TYPES, typeBytes } from "../gguf/tensorTypes.ts";
import type { NumberType } from "../modelFiles/numberTypes.ts";
import { type Entry, numbersOf } from "../modelFiles/safetensors.ts";
import type { GgufContent } from "./ggufFile.ts";
import type { SourceFile, SourceTensor } from "./source.ts";

const OWN_TYPES = { F32: "f32", F16: "f16", BF16: "bf16" } as const satisfies Record<
  NumberType,
  GgufType
>;

/**
 * A model's tensors as llama.cpp has them: their names, types and the order of rows. Vectors are float32.
 * @param type of the matrices; by default, each keeps its own
 */
export function ggufTensors(
  files: readonly SourceFile[],
  architecture: Architecture,
  d: Dimensions,
  type: GgufType | undefined,
): Omit<GgufContent, "metadata"> {
  const shapes = weightShapes(d);
  const nameOf = modelNames(new Set(files.flatMap(({ entries }) => [...entries.keys()])), d.tied);
  const factors = ropeFactors(d);

  /** Other tensors of a model, such as masks, are not needed. */
  function* wanted(): Generator<{ tensor: SourceTensor; path: string }> {
    for (const { path, tensors } of files) {
      for (const tensor of tensors()) {
        const name = nameOf(tensor.name);
        if (Object.hasOwn(shapes, name)) yield { tensor: { ...tensor, name }, path };
      }
    }
  }

  function* contents(): Generator<Iterable<Uint8Array>> {
    if (factors) yield [new Uint8Array(factors.buffer)];
    for (const { tensor, path } of wanted()) {
      const own = OWN_TYPES[numbersOf(tensor.name, tensor, path).dtype];
      const offset = isNorm(tensor.name) ? (architecture.normOffset ?? 0) : 0;
      const blocks =
        offset === 0 ? inType(tensor, own, typeOf(tensor, own, type)) : moved(tensor, offset);
      const isTurned = architecture.turnsNeighbours && /\.[qk]_proj\./.test(tensor.name);
      yield isTurned ? turned(blocks, d.headDim, rowBytes(tensor, own, type)) : blocks;
    }
  }

  const listed = [...wanted()].map(({ tensor, path }): NamedTensor => {
    const own = OWN_TYPES[numbersOf(tensor.name, tensor, path).dtype];
    return {
      name: ggufName(tensor.name, architecture.modules),
      type: typeOf(tensor, own, type),
      shape: tensor.shape,
    };
  });
  const first: NamedTensor[] = factors
    ? [{ name: ROPE_FACTORS, type: "f32", shape: [factors.length] }]
    : [];
  return { tensors: [...first, ...listed], contents };
}

/** llama.cpp's own choice: float16 for rows that are not whole blocks, a finer type for the embedding. */
function typeOf(
  { name, shape }: Entry & { name: string },
  own: GgufType,
  wanted: GgufType = own,
): GgufType {
  const [, columns] = shape;
  if (columns === undefined) return "f32";
  if (columns % TENSOR_TYPES[wanted].block !== 0) return "f16";
  return wanted === "q4_0" && (name === EMBEDDING || name === HEAD) ? "q8_0" : wanted;
}

function rowBytes(tensor: Entry & { name: string }, own: GgufType, wanted?: GgufType): number {
  return typeBytes(typeOf(tensor, own, wanted), tensor.shape[1] ?? 1);
}

function* inType(tensor: SourceTensor, own: GgufType, type: GgufType): Generator<Uint8Array> {
  if (type === own) {
    yield* tensor.blocks();
    return;
  }
  for (const numbers of tensor.numbers()) {
    const bytes = encodeNumbers(type, numbers);
    if (!bytes) {
      throw new KitError(
        "CONFIG_INVALID",
        `${tensor.name} has numbers that are too large for ${type}. Use --type bf16 or f32.`,
      );
    }
    yield bytes;
  }
}

/** A vector with an offset added, in float32. */
function* moved(tensor: SourceTensor, offset: number): Generator<Uint8Array> {
  for (const numbers of tensor.numbers()) {
    yield new Uint8Array(Float32Array.from(numbers, (value) => value + offset).buffer);
  }
}

/** Rows in the order that llama.cpp wants, head by head. */
function* turned(
  blocks: Iterable<Uint8Array>,
  headDim: number,
  rowBytes: number,
): Generator<Uint8Array> {
  const headBytes = headDim * rowBytes;
  let rest: Uint8Array = new Uint8Array();
  for (const block of blocks) {
    const bytes = rest.length > 0 ? Buffer.concat([rest, block]) : block;
    const whole = bytes.length - (bytes.length % headBytes);
    if (whole > 0) yield interleaved(bytes.subarray(0, whole), headDim, rowBytes);
    rest = bytes.slice(whole);
  }
}
