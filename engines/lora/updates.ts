import { KitError } from "../../protocol/error.ts";
import type { LoraConfig } from "../../protocol/trainConfig.ts";
import { fileTensors } from "../modelFiles/fileTensors.ts";
import { isDtype } from "../modelFiles/numberTypes.ts";
import { type SafetensorsFile, openSafetensors } from "../modelFiles/safetensors.ts";
import { type TensorSource, rowsOf } from "../modelFiles/tensors.ts";
import { areFinite, widened } from "../modelFiles/weights.ts";
import { adapterFile } from "./adapterTensors.ts";
import { type SavedAdapter, moduleOf, peftName, savedName } from "./peftConfig.ts";

/** A low-rank update of a matrix [rows, columns]. */
export interface Update {
  /** [r, columns] */
  a: Float32Array;
  /** [rows, r] */
  b: Float32Array;
  r: number;
  scale: number;
}

/** An adapter's updates, by the base's tensor names; each is read on demand. */
export type Updates = ReadonlyMap<string, () => Update>;

/** Reads an update. @param a and b: the names of its tensors in the adapter */
function readUpdate(
  { tensors, rows }: TensorSource,
  [a, b]: readonly [a: string, b: string],
  scale: number,
): Update {
  const read = (name: string) => widened(rows(name, 0, rowsOf(tensors.get(name)?.shape ?? [])));
  return { a: read(a), b: read(b), r: tensors.get(a)?.shape[0] ?? 1, scale };
}

/** Reads all updates into memory. */
export function readUpdates(updates: Updates): Record<string, Update> {
  return Object.fromEntries([...updates].map(([name, read]) => [name, read()]));
}

/** Scales of updates: α/r, or each module's own. */
interface Scaling extends Omit<LoraConfig, "targetModules"> {
  scaleOf?: (module: string) => number;
}

/** The updates of an adapter whose tensors have the model's names, with or without PEFT's prefix. */
export function updatesOf(
  adapter: TensorSource,
  { r, alpha, scaleOf = () => alpha / r }: Scaling,
): Updates {
  const names = [...adapter.tensors.keys()].filter((name) => name.endsWith(".lora_A.weight"));
  return new Map(
    names.map((a) => {
      const [b, module] = [a.replace("lora_A", "lora_B"), moduleOf(a)];
      return [`${module}.weight`, () => readUpdate(adapter, [a, b], scaleOf(module))];
    }),
  );
}

/**
 * A base into which an adapter is merged as rows are read. Updated tensors become float32.
 * @param label the base, for errors
 */
export function merged(base: TensorSource, updates: Updates, label: string): TensorSource {
  const tensors = new Map(
    [...base.tensors].map(([name, tensor]) => [
      name,
      updates.has(name) ? { ...tensor, type: "f32" } : tensor,
    ]),
  );
  let last: { name: string; update: Update } | undefined;

  function rows(...[name, from, to, buffer]: Parameters<TensorSource["rows"]>) {
    const baseRows = base.rows(name, from, to, buffer);
    const read = updates.get(name);
    if (!read) return baseRows;
    if (last?.name !== name) last = { name, update: read() };
    const data = widened(baseRows);
    addUpdate(data, last.update, from);
    if (areFinite(data)) return data;
    throw notFinite(name, label);
  }
  return { tensors, rows };
}

/** The error for a tensor that overflows with its adapter. @param label the base */
export function notFinite(name: string, label: string): KitError {
  return new KitError(
    "CHECKPOINT_INVALID",
    `Merged with the adapter, ${name} of ${label} overflows its number type, or is not a number. Use another checkpoint.`,
  );
}

/** Adds scale · B·A to rows, in place. @param first index of the first row */
function addUpdate(data: Float32Array, { a, b, r, scale }: Update, first = 0): void {
  const columns = a.length / r;
  const rows = data.length / columns;
  for (let i = 0, start = 0; i < rows * r; i++) {
    const factor = b[first * r + i]! * scale;
    const from = (i % r) * columns;
    for (let column = 0; column < columns; column++) {
      data[start + column]! += factor * a[from + column]!;
    }
    if (i % r === r - 1) start += columns;
  }
}

/**
 * Opens the updates of an adapter for any architecture.
 * @param path of the adapter
 * @param base its directory and weight files
 * @returns updates by the base's stored tensor names
 * @throws KitError `CHECKPOINT_INVALID` if an adapter's tensor fits none of the base's
 */
export function openUpdates(
  path: string,
  { rankOf, scaleOf }: SavedAdapter,
  base: { directory: string; files: readonly SafetensorsFile[] },
): Updates {
  const file = adapterFile(path);
  const { tensors } = openSafetensors(file);
  const source = fileTensors(tensors);
  // `savedName` and `peftName` both give PEFT's saved name, so the two agree.
  const stored = new Map([...tensors.keys()].map((name) => [savedName(name), name]));
  const updates = new Map<string, () => Update>();
  const usedNames = new Set<string>();
  for (const [name, { shape }] of base.files.flatMap((weights) => [...weights.tensors])) {
    const [rows, columns] = shape;
    for (const module of modulesOf(name)) {
      const [a = "", b = ""] = ["A", "B"].map((matrix) =>
        stored.get(peftName(`${module}.lora_${matrix}.weight`)),
      );
      const r = rankOf(module);
      if (shape.length !== 2 || !hasShape(a, [r, columns]) || !hasShape(b, [rows, r])) continue;
      updates.set(name, () => readUpdate(source, [a, b], scaleOf(module)));
      usedNames.add(a).add(b);
    }
  }
  const unused = [...tensors.keys()].find((name) => !usedNames.has(name));
  if (unused === undefined && tensors.size > 0) return updates;
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${file} does not fit ${base.directory}: ${unused === undefined ? "it is empty" : `the base has no matching tensor for ${unused}`}. Use the base that the adapter was trained on, unchanged.`,
  );

  function hasShape(name: string, sizes: unknown[]): boolean {
    const { shape, type } = tensors.get(name) ?? { shape: [], type: "" };
    const fits = shape.length === sizes.length && shape.every((size, i) => size === sizes[i]);
    return fits && isDtype(type);
  }
}

/** The modules that a tensor may belong to, because files may lack the model's prefix, such as `model.` */
function modulesOf(tensor: string): string[] {
  const module = tensor.replace(/\.weight$/, "");
  return [module, `model.${module}`, `transformer.${module}`];
}
