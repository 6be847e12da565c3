import { KitError } from "../../protocol/error.ts";
import type { GgufType } from "../../protocol/exportFormat.ts";
import type { Dimensions } from "../families/dimensions.ts";
import { matrixType } from "../families/matrixTypes.ts";
import { modelNames } from "../families/storedNames.ts";
import { weightShapes } from "../families/tensorShapes.ts";
import { type Architecture, normOffset, permutedRows } from "../gguf/architecture.ts";
import type { WrittenTensor } from "../gguf/header.ts";
import { permuted } from "../gguf/ropePermutation.ts";
import { ROPE_FACTORS, ggufName } from "../gguf/tensorNames.ts";
import { notFinite } from "../lora/updates.ts";
import type { FileTensor } from "../modelFiles/fileTensors.ts";
import { type NumberTypeName, NUMBER_TYPES, isDtype } from "../modelFiles/numberTypes.ts";
import { columnsOf, unsupportedType, chunks } from "../modelFiles/tensors.ts";
import { widened } from "../modelFiles/weights.ts";
import type { SourceFile } from "./source.ts";

/**
 * A model's tensors with llama.cpp's names, types and row order. Vectors are float32.
 * @param type of the matrices. Default: each keeps its own
 */
export function ggufTensors(
  files: readonly SourceFile[],
  architecture: Architecture,
  d: Dimensions,
  type: GgufType | undefined,
): WrittenTensor[] {
  const shapes = weightShapes(d);
  const nameOf = modelNames(new Set(files.flatMap(({ tensors }) => [...tensors.keys()])), d.tied);

  function toWritten(
    { weights }: SourceFile,
    [stored, tensor]: [string, FileTensor],
  ): WrittenTensor {
    const { path, shape } = tensor;
    const name = nameOf(stored);
    if (!isDtype(tensor.type)) throw unsupportedType(path, name, tensor.type);
    const target = typeOf(name, shape, tensor.type);
    const [unit, offset] = [permutedRows(architecture, name, d), normOffset(architecture, name)];
    const columns = shape.length > 1 ? columnsOf(shape) : 1;

    function* blocks(): Generator<Uint8Array> {
      for (const rows of chunks(weights, stored, { unit })) {
        const shifted = offset === 0 ? rows : widened(rows).map((value) => value + offset);
        const ordered = unit === 1 ? shifted : permuted(shifted, unit, columns);
        const bytes = NUMBER_TYPES[target].encode(ordered);
        if (!bytes) throw target === tensor.type ? notFinite(stored, path) : tooLarge(name, target);
        yield bytes;
      }
    }
    return { name: ggufName(name, architecture.modules), type: target, shape, blocks };
  }

  function typeOf(name: string, [, columns]: readonly number[], storedType: NumberTypeName) {
    if (columns === undefined) return "f32";
    return type === undefined ? storedType : matrixType(type, name, columns, d);
  }

  // A model may have other tensors, such as masks.
  const written = files.flatMap((file) =>
    [...file.tensors]
      .filter(([name]) => Object.hasOwn(shapes, nameOf(name)))
      .map((tensor) => toWritten(file, tensor)),
  );
  return [...ropeFactors(d), ...written];
}

function tooLarge(name: string, type: NumberTypeName): KitError {
  return new KitError(
    "CONFIG_INVALID",
    `${name} has numbers too large for ${type}. Use --type bf16 or f32.`,
  );
}

/** llama.cpp's divisors of RoPE's frequencies, [headDim / 2], for Llama 3 alone. */
function ropeFactors({ rope, headDim }: Dimensions): WrittenTensor[] {
  if (rope.type !== "llama3") return [];
  const { theta, factor, lowFreqFactor: low, highFreqFactor: high, originalContext } = rope;
  const factors = Float32Array.from({ length: headDim / 2 }, (_, i) => {
    const rotations = originalContext / (2 * Math.PI * theta ** ((2 * i) / headDim));
    if (rotations < low) return factor;
    if (rotations > high) return 1;
    const weight = (rotations - low) / (high - low);
    return 1 / ((1 - weight) / factor + weight);
  });
  const blocks = () => [new Uint8Array(factors.buffer)];
  return [{ name: ROPE_FACTORS, type: "f32", shape: [factors.length], blocks }];
}
