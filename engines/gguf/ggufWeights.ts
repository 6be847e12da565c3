import { KitError } from "../../protocol/error.ts";
import type { Dimensions } from "../families/dimensions.ts";
import { weightShapes } from "../families/tensorShapes.ts";
import {
  type FileTensor,
  type TensorSource,
  columnsOf,
  fileTensors,
} from "../modelFiles/tensors.ts";
import { widened } from "../modelFiles/weights.ts";
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
  const { tensors, rows } = fileTensors(new Map(chosen), "Export or download it again");
  return {
    tensors,
    rows(name, from, to, room) {
      const { shape = [] } = tensors.get(name) ?? {};
      const offset = normOffset(architecture, name);
      // As it was before the offset was added: added again, it gives the same number.
      if (offset !== 0) return widened(rows(name, from, to, room)).map((value) => value - offset);
      const unit = reorderedRows(architecture, name, d);
      if (unit === 1) return rows(name, from, to, room);
      if (shape.length === 1) return separated(rows(name, from, to, room), unit, 1);
      // Of whole heads.
      const [first, last] = [from - (from % unit), Math.ceil(to / unit) * unit];
      const columns = columnsOf(shape);
      const heads = separated(rows(name, first, last, room), unit, columns);
      return heads.subarray((from - first) * columns, (to - first) * columns);
    },
  };
}
