import { KitError } from "../../protocol/error.ts";
import { type Dimensions } from "../families/dimensions.ts";
import { weightShapes } from "../families/tensorShapes.ts";
import { readWhole, useFile } from "../modelFiles/plainFile.ts";
import type { WeightsFile } from "../modelFiles/tensorFiles.ts";
import {
  type AllocateTensor,
  type StoredWeights,
  type TakeRows,
  areFinite,
  rowsInto,
} from "../modelFiles/weights.ts";
import type { Architecture } from "./architecture.ts";
import { decodeNumbers } from "./numbers.ts";
import type { PlacedTensor } from "./parsedHeader.ts";
import { separated } from "./rowOrder.ts";
import { ggufName, isNorm } from "./tensorNames.ts";
import { typeBytes } from "./tensorTypes.ts";

/** Numbers read at once, unless a head has more. */
const PART_NUMBERS = 2 ** 20;

/**
 * The tensors of a model in a GGUF file, under Hugging Face's names and in its order of rows. Those in float16 and
 * in quantized types become float32.
 * @throws KitError `CHECKPOINT_INVALID` when one is missing or has other dimensions
 */
export function ggufWeights(
  path: string,
  placed: ReadonlyMap<string, PlacedTensor>,
  architecture: Architecture,
  d: Dimensions,
): WeightsFile {
  const invalid = (problem: string) =>
    new KitError("CHECKPOINT_INVALID", `${path} ${problem}. Export or download it again.`);
  const chosen = Object.entries(weightShapes(d)).map(([name, shape]) => {
    const tensor = placed.get(ggufName(name, architecture.modules));
    const found = tensor?.shape.join(" × ") ?? "missing";
    if (!tensor || found !== shape.join(" × ")) {
      throw invalid(`does not hold its model: ${name} is ${found}, not ${shape.join(" × ")}`);
    }
    const isTurned = architecture.turnsNeighbours && /\.[qk]_proj\./.test(name);
    const offset = isNorm(name) ? (architecture.normOffset ?? 0) : 0;
    return { name, tensor, headDim: isTurned ? d.headDim : undefined, offset };
  });

  function read(room?: AllocateTensor): StoredWeights {
    return useFile(path, ({ file }) => {
      const kept: StoredWeights = {};
      for (const { name, tensor, headDim, offset } of chosen) {
        const { type, shape } = tensor;
        const count = shape.reduce((product, length) => product * length, 1);
        const isBfloat16 = type === "bf16";
        const place = room?.(name, count, isBfloat16);
        const own = isBfloat16
          ? new Uint16Array(place ? 0 : count)
          : new Float32Array(place ? 0 : count);
        if (!place) kept[name] = { shape, data: own };
        const take = typeof place === "function" ? place : rowsInto(place ?? own);
        readRows(file, name, { tensor, headDim }, offset === 0 ? take : lessBy(offset, take));
      }
      return kept;
    });
  }

  function readRows(
    file: number,
    name: string,
    { tensor, headDim = 1 }: { tensor: PlacedTensor; headDim?: number | undefined },
    take: TakeRows,
  ): void {
    const { type, shape, offset, bytes } = tensor;
    const columns = shape.length > 1 ? shape.at(-1)! : 1;
    const isVector = shape.length === 1;
    const unit = isVector && headDim === 1 ? shape[0]! : headDim * columns;
    const step = typeBytes(type, unit * Math.max(1, Math.floor(PART_NUMBERS / unit)));
    for (let at = 0; at < bytes; at += step) {
      const part = new Uint8Array(Math.min(step, bytes - at));
      if (!readWhole(file, part, offset + at)) throw invalid(`is cut off at ${name}`);
      const rows = headDim > 1 ? separated(part, headDim, typeBytes(type, columns)) : part;
      const numbers = decodeNumbers(type, rows);
      if (!areFinite(numbers)) throw invalid(`has non-finite numbers in ${name}`);
      take(numbers);
    }
  }

  /** As it was before the offset was added: added again, it gives the same number. */
  function lessBy(offset: number, take: TakeRows): TakeRows {
    return (numbers) => take(Float32Array.from(numbers, (value) => value - offset));
  }

  const halves = chosen.filter(({ tensor }) => tensor.type === "bf16");
  return {
    names: new Set(chosen.map(({ name }) => name)),
    bfloat16: new Set(halves.map(({ name }) => name)),
    read,
  };
}
