import { KitError } from "../../protocol/error.ts";
import type { Dimensions } from "../families/dimensions.ts";
import { weightShapes } from "../families/tensorShapes.ts";
import { type FileTensor, fileTensors } from "../modelFiles/fileTensors.ts";
import type { TensorSource } from "../modelFiles/tensors.ts";
import { type Numbers, widened } from "../modelFiles/weights.ts";
import { type Architecture, normOffset, permutedRows } from "./architecture.ts";
import { unpermuted } from "./ropePermutation.ts";
import { ggufName } from "./tensorNames.ts";

/**
 * A model's tensors in a GGUF file, with Hugging Face's names and row order. float16 and quantized types become
 * float32.
 * @throws KitError `CHECKPOINT_INVALID` if one is missing or has another shape
 */
export function ggufWeights(
  path: string,
  stored: ReadonlyMap<string, FileTensor>,
  architecture: Architecture,
  d: Dimensions,
): TensorSource {
  const chosen = Object.entries(weightShapes(d)).map(([name, shape]): [string, FileTensor] => {
    const tensor = stored.get(ggufName(name, architecture.modules));
    const found = tensor?.shape.join(" × ") ?? "missing";
    if (tensor && found === shape.join(" × ")) return [name, tensor];
    throw new KitError(
      "CHECKPOINT_INVALID",
      `${path} does not match its own config: ${name} is ${found} (expected ${shape.join(" × ")}). Export or download it again.`,
    );
  });
  const { tensors, rows, blocks } = fileTensors(new Map(chosen), "Export or download it again");

  /** Reads rows in Hugging Face's order. */
  function readOrdered<T extends Numbers | Uint8Array>(
    read: (from: number, to: number) => T,
    name: string,
    from: number,
    to: number,
  ): T {
    const unit = permutedRows(architecture, name, d);
    if (unit === 1) return read(from, to);
    if (tensors.get(name)?.shape.length === 1) return unpermuted(read(from, to), unit, 1);
    // Reads whole heads.
    const [first, last] = [from - (from % unit), Math.ceil(to / unit) * unit];
    const heads = read(first, last);
    const row = heads.length / (last - first);
    return unpermuted(heads, unit, row).subarray((from - first) * row, (to - first) * row) as T;
  }

  return {
    tensors,
    rows(name, from, to, buffer) {
      const offset = normOffset(architecture, name);
      const found = readOrdered((first, last) => rows(name, first, last, buffer), name, from, to);
      // Exact enough to export again: adding the offset gives the same number.
      return offset === 0 ? found : widened(found).map((value) => value - offset);
    },
    blocks: (name, from, to, buffer) =>
      readOrdered((first, last) => blocks(name, first, last, buffer), name, from, to),
  };
}
