import { KitError } from "../../protocol/error.ts";
import type { LoraConfig } from "../../protocol/trainConfig.ts";
import { type TensorSource, rowsOf } from "../modelFiles/tensors.ts";
import { areFinite, widened } from "../modelFiles/weights.ts";
import { moduleOf } from "./peftConfig.ts";

/** A low-rank change of a matrix [rows, columns]. */
export interface Update {
  /** [r, columns] */
  a: Float32Array;
  /** [rows, r] */
  b: Float32Array;
  r: number;
  scale: number;
}

/** What an adapter adds to its base's tensors, by their names; each is read when it is wanted. */
export type Updates = ReadonlyMap<string, () => Update>;

/** Reads an update. @param a the names of its two matrices among an adapter's tensors */
export function readUpdate(
  { tensors, rows }: TensorSource,
  [a, b]: readonly [a: string, b: string],
  scale: number,
): Update {
  const read = (name: string) => widened(rows(name, 0, rowsOf(tensors.get(name)?.shape ?? [])));
  return { a: read(a), b: read(b), r: tensors.get(a)?.shape[0] ?? 1, scale };
}

/** All of them, in memory. */
export function readUpdates(updates: Updates): Record<string, Update> {
  return Object.fromEntries([...updates].map(([name, read]) => [name, read()]));
}

/** How updates are scaled: by α/r, or each by its own. */
interface Scaling extends Omit<LoraConfig, "targetModules"> {
  scaleOf?: (module: string) => number;
}

/** The updates of an adapter whose tensors are named after the model's, with PEFT's prefix or without. */
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
 * A base with an adapter's updates, in float32 where it has any: added while rows are read.
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

  function rows(...[name, from, to, room]: Parameters<TensorSource["rows"]>) {
    const own = base.rows(name, from, to, room);
    const read = updates.get(name);
    if (!read) return own;
    if (last?.name !== name) last = { name, update: read() };
    const data = widened(own);
    addUpdate(data, last.update, from);
    if (areFinite(data)) return data;
    throw notFinite(name, label);
  }
  return { tensors, rows };
}

/** The error for a tensor that an adapter makes too large. @param label the base */
export function notFinite(name: string, label: string): KitError {
  return new KitError(
    "CHECKPOINT_INVALID",
    `With its adapter, ${name} of ${label} is not finite in its type. Use another checkpoint.`,
  );
}

/** Adds scale · B·A to rows from one on, in place. */
export function addUpdate(data: Float32Array, { a, b, r, scale }: Update, first = 0): void {
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
