import { KitError } from "../../protocol/error.ts";
import type { WeightCounts } from "../modelFiles/weights.ts";
import { type Entry, LEAST_NUMBER_BYTES, numbersOf, useSafetensors } from "./safetensors.ts";
import type { ReadWeights, AllocateTensor, StoredWeights } from "./weights.ts";

/** A tensor's name, type, dimensions and place, as short as they can be written. */
const LEAST_ENTRY_BYTES = 50;

/** Tensors in files, which are read when they are wanted. */
export interface WeightsFile {
  names: ReadonlySet<string>;
  /** Names of those that are bfloat16. */
  bfloat16: ReadonlySet<string>;
  /** @throws KitError `CHECKPOINT_INVALID` when one is cut off or not finite */
  read: ReadWeights;
}

/** All tensors of some files, by their names. */
export interface TensorFiles {
  has: (name: string) => boolean;
  /**
   * @throws KitError `CHECKPOINT_INVALID` when one of these is missing, has other dimensions or is of a
   * type that is not read
   */
  choose: (shapes: Record<string, number[]>) => WeightsFile;
}

/**
 * Lists the tensors of safetensors files.
 * @param label the file that names them all, for errors
 * @param counts how many there are at least, so that none is listed when the files cannot hold them
 * @throws KitError `CHECKPOINT_INVALID` when a file is missing or damaged
 */
export function openTensors(files: string[], counts: WeightCounts, label = files[0]): TensorFiles {
  const invalid = (problem: string) =>
    new KitError("CHECKPOINT_INVALID", `${label}${problem}. Save or download it again.`);
  const { tensors, numbers } = counts;
  const found = new Map<string, { path: string; entry: Entry }>();
  const sizes = files.map((path) =>
    useSafetensors(path, ({ size, headerBytes }) => ({ size, headerBytes })),
  );
  const bytes = sizes.reduce((sum, { size }) => sum + size, 0);
  const headerBytes = sizes.reduce((sum, one) => sum + one.headerBytes, 0);
  if (numbers * LEAST_NUMBER_BYTES > bytes || tensors * LEAST_ENTRY_BYTES > headerBytes) {
    throw invalid(
      ` cannot hold the ${tensors} tensors of ${numbers} numbers that its config claims`,
    );
  }
  for (const path of files) {
    const entries = useSafetensors(path, (file) => file.entries(tensors));
    for (const [name, entry] of entries) found.set(name, { path, entry });
  }

  function choose(shapes: Record<string, number[]>): WeightsFile {
    const chosen = Object.entries(shapes).map(([name, shape]) => {
      const place = found.get(name);
      const dimensions = place?.entry.shape.join(" × ") ?? "missing";
      if (!place || dimensions !== shape.join(" × ")) {
        throw invalid(`: ${name} is ${dimensions}, not ${shape.join(" × ")}`);
      }
      return { name, path: place.path, entry: numbersOf(name, place.entry, `${label}`) };
    });
    function read(room?: AllocateTensor): StoredWeights {
      const parts = files.map((path) =>
        useSafetensors(path, (file) => {
          const here = chosen.filter((one) => one.path === path);
          return here.flatMap(({ name, entry }) => {
            const tensor = file.read(name, entry, room);
            return tensor ? [[name, tensor] as const] : [];
          });
        }),
      );
      return Object.fromEntries(parts.flat());
    }
    const halves = chosen.filter(({ entry }) => entry.dtype === "BF16");
    return {
      names: new Set(Object.keys(shapes)),
      bfloat16: new Set(halves.map(({ name }) => name)),
      read,
    };
  }

  return { has: (name) => found.has(name), choose };
}

/** The tensors of a file, by their names. */
export interface TensorList {
  headerBytes: number;
  entries: Map<string, Entry>;
}

/** Far more than a model has; their header takes 100 MiB. */
const MOST_TENSORS = 100_000;

/** @throws KitError `CHECKPOINT_INVALID` when the file is missing or damaged */
export function listTensors(path: string): TensorList {
  return useSafetensors(path, ({ headerBytes, entries }) => ({
    headerBytes,
    entries: entries(MOST_TENSORS),
  }));
}
