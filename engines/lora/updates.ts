import { join } from "node:path";
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
import { type SavedAdapter, ADAPTER_FILE, peftName } from "./peftConfig.ts";

/**
 * Opens an adapter's tensors, of any kind of model.
 * @param path of the adapter
 * @param base directory of its base, and the tensors there
 * @returns a function that reads the change of one of them
 * @throws KitError `CHECKPOINT_INVALID` when a tensor of the adapter fits none of the base
 */
export function openUpdates(
  path: string,
  { r, alpha }: SavedAdapter,
  base: { directory: string; lists: TensorList[] },
): (name: string) => Update | undefined {
  const file = join(path, ADAPTER_FILE);
  const { entries } = listTensors(file);
  const places = new Map<string, { a: [string, NumberEntry]; b: [string, NumberEntry] }>();
  const fitting = new Set<string>();
  for (const [name, { shape }] of base.lists.flatMap((list) => [...list.entries])) {
    const [a, b] = ["lora_A", "lora_B"].map((part) =>
      peftName(name.replace(/weight$/, `${part}.weight`)),
    ) as [string, string];
    const [ofA, ofB] = [entries.get(a), entries.get(b)];
    const [rows, columns] = shape;
    if (!ofA || !ofB || shape.length !== 2) continue;
    if (!isOf(ofA, [r, columns]) || !isOf(ofB, [rows, r])) continue;
    places.set(name, { a: [a, ofA], b: [b, ofB] });
    fitting.add(a).add(b);
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
    return useSafetensors(file, ({ read }) => {
      const [a, b] = [widened(read(...place.a)), widened(read(...place.b))];
      return { a, b, r, scale: alpha / r };
    });
  };
}

function isOf(entry: Entry, sizes: unknown[]): entry is NumberEntry {
  const { shape } = entry;
  const fits = shape.length === sizes.length && shape.every((size, i) => size === sizes[i]);
  return fits && hasNumbers(entry);
}
