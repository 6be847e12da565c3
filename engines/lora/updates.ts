import { KitError } from "../../protocol/error.ts";
import {
  type Entry,
  type NumberEntry,
  hasNumbers,
  useSafetensors,
} from "../modelFiles/safetensors.ts";
import { type TensorList, listTensors } from "../modelFiles/tensorFiles.ts";
import { widened } from "../modelFiles/weights.ts";
import type { Update } from "./adapter.ts";
import { adapterFile } from "./adapterTensors.ts";
import { type SavedAdapter, peftName, savedName } from "./peftConfig.ts";

/**
 * Opens an adapter's tensors, of any kind of model.
 * @param path of the adapter
 * @param base directory of its base, and the tensors there
 * @returns a function that reads the change of one of them
 * @throws KitError `CHECKPOINT_INVALID` when a tensor of the adapter fits none of the base
 */
export function openUpdates(
  path: string,
  { rankOf, scaleOf }: SavedAdapter,
  base: { directory: string; lists: TensorList[] },
): (name: string) => Update | undefined {
  const file = adapterFile(path);
  const { entries } = listTensors(file);
  const stored = new Map([...entries].map(([name, entry]) => [savedName(name), { name, entry }]));
  const places = new Map<string, { module: string; a: Found; b: Found }>();
  const fitting = new Set<string>();
  for (const [name, { shape }] of base.lists.flatMap((list) => [...list.entries])) {
    const found = modulesOf(name).flatMap((module) => {
      const [a, b] = ["A", "B"].map((part) =>
        stored.get(peftName(`${module}.lora_${part}.weight`)),
      );
      return a && b ? [{ module, a, b }] : [];
    });
    const [rows, columns] = shape;
    for (const { module, a, b } of found) {
      const r = rankOf(module);
      if (shape.length !== 2 || !isOf(a, [r, columns]) || !isOf(b, [rows, r])) continue;
      places.set(name, { module, a, b });
      fitting.add(a.name).add(b.name);
    }
  }
  const other = [...entries.keys()].find((name) => !fitting.has(name));
  if (other !== undefined || entries.size === 0) {
    throw new KitError(
      "CHECKPOINT_INVALID",
      `${file} does not fit ${base.directory}: ${other ?? "it is empty"}. Use the base that the adapter was trained on, as it was then.`,
    );
  }

  return function updateOf(name) {
    const place = places.get(name);
    if (!place) return undefined;
    const { module, a, b } = place;
    return useSafetensors(file, ({ read }) => ({
      a: widened(read(a.name, a.entry)),
      b: widened(read(b.name, b.entry)),
      r: rankOf(module),
      scale: scaleOf(module),
    }));
  };
}

/** A tensor of the adapter, under the name that it is stored by. */
interface Found<E = NumberEntry> {
  name: string;
  entry: E;
}

/** A model's files may have its tensors' names with or without its own prefix, such as `model.` */
function modulesOf(tensor: string): string[] {
  const module = tensor.replace(/\.weight$/, "");
  return [module, `model.${module}`, `transformer.${module}`];
}

function isOf(found: Found<Entry>, sizes: unknown[]): found is Found {
  const { shape } = found.entry;
  const fits = shape.length === sizes.length && shape.every((size, i) => size === sizes[i]);
  return fits && hasNumbers(found.entry);
}
