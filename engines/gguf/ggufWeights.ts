import { KitError } from "../../protocol/error.ts";
import type { Dimensions } from "../families/dimensions.ts";
import { weightShapes } from "../families/tensorShapes.ts";
import { type FileTensor, type TensorSource, fileTensors } from "../modelFiles/tensors.ts";
import { type Numbers, widened } from "../modelFiles/weights.ts";
import { type Architecture, normOffset, reorderedRows } from "./architecture.ts";
import { separated } from "./rowOrder.ts";
import { ggufName } from "./tensorNames.ts";

/**
 * The tensors of a model in a GGUF file, under Hugging Face's names and in its order of rows. Those in float16 and
 * in quantized types become float32.
 * @throws KitError `CHECKPOINT_INVALID` when one is missing or has other dimensions
 */
export function ggufWeights(
  path: string,
  placed: ReadonlyMap<string, FileTensor>,
  architecture: Architecture,
  d: Dimensions,
): TensorSource {
  const chosen = Object.entries(weightShapes(d)).map(([name, shape]): [string, FileTensor] => {
    const tensor = placed.get(ggufName(name, architecture.modules));
    const found = tensor?.shape.join(" × ") ?? "missing";
    if (tensor && found === shape.join(" × ")) return [name, tensor];
    throw new KitError(
      "CHECKPOINT_INVALID",
      `${path} does not hold its model: ${name} is ${found}, not ${shape.join(" × ")}. Export or download it again.`,
    );
  });
  const { tensors, rows, blocks } = fileTensors(new Map(chosen), "Export or download it again");

  /** Rows in Hugging Face's order. */
  function ordered<T extends Numbers | Uint8Array>(
    read: (from: number, to: number) => T,
    name: string,
    from: number,
    to: number,
  ): T {
    const unit = reorderedRows(architecture, name, d);
    if (unit === 1) return read(from, to);
    if (tensors.get(name)?.shape.length === 1) return separated(read(from, to), unit, 1);
    // Of whole heads.
    const [first, last] = [from - (from % unit), Math.ceil(to / unit) * unit];
    const heads = read(first, last);
    const row = heads.length / (last - first);
    return separated(heads, unit, row).subarray((from - first) * row, (to - first) * row) as T;
  }

  return {
    tensors,
    rows(name, from, to, room) {
      const offset = normOffset(architecture, name);
      const found = ordered((first, last) => rows(name, first, last, room), name, from, to);
      // As it was before the offset was added: added again, it gives the same number.
      return offset === 0 ? found : widened(found).map((value) => value - offset);
    },
    blocks: (name, from, to, room) =>
      ordered((first, last) => blocks(name, first, last, room), name, from, to),
  };
}
