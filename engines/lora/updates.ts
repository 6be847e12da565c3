import { KitError } from "../../protocol/error.ts";
import { isNumberType } from "../modelFiles/numberTypes.ts";
import { type SafetensorsFile, openSafetensors } from "../modelFiles/safetensors.ts";
import { fileTensors } from "../modelFiles/tensors.ts";
import { adapterFile } from "./adapterTensors.ts";
import { type Update, type Updates, readUpdate } from "./merged.ts";
import { type SavedAdapter, peftName, savedName } from "./peftConfig.ts";

/**
 * Opens the updates of an adapter to any kind of model.
 * @param path of the adapter
 * @param base directory of its base, and the files of weights there
 * @returns them by the names under which the base's tensors are stored
 * @throws KitError `CHECKPOINT_INVALID` when a tensor of the adapter fits none of the base
 */
export function openUpdates(
  path: string,
  { rankOf, scaleOf }: SavedAdapter,
  base: { directory: string; files: readonly SafetensorsFile[] },
): Updates {
  const file = adapterFile(path);
  const { tensors } = openSafetensors(file);
  const source = fileTensors(tensors);
  const stored = new Map([...tensors.keys()].map((name) => [savedName(name), name]));
  const updates = new Map<string, () => Update>();
  const fitting = new Set<string>();
  for (const [name, { shape }] of base.files.flatMap((one) => [...one.tensors])) {
    const [rows, columns] = shape;
    for (const module of modulesOf(name)) {
      const [a = "", b = ""] = ["A", "B"].map((part) =>
        stored.get(peftName(`${module}.lora_${part}.weight`)),
      );
      const r = rankOf(module);
      if (shape.length !== 2 || !isOf(a, [r, columns]) || !isOf(b, [rows, r])) continue;
      updates.set(name, () => readUpdate(source, [a, b], scaleOf(module)));
      fitting.add(a).add(b);
    }
  }
  const other = [...tensors.keys()].find((name) => !fitting.has(name));
  if (other === undefined && tensors.size > 0) return updates;
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${file} does not fit ${base.directory}: ${other ?? "it is empty"}. Use the base that the adapter was trained on, as it was then.`,
  );

  function isOf(name: string, sizes: unknown[]): boolean {
    const { shape, type } = tensors.get(name) ?? { shape: [], type: "" };
    const fits = shape.length === sizes.length && shape.every((size, i) => size === sizes[i]);
    return fits && isNumberType(type);
  }
}

/** A model's files may have its tensors' names with or without its own prefix, such as `model.` */
function modulesOf(tensor: string): string[] {
  const module = tensor.replace(/\.weight$/, "");
  return [module, `model.${module}`, `transformer.${module}`];
}
