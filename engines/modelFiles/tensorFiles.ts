import { KitError } from "../../protocol/error.ts";
import type { WeightCounts } from "../modelFiles/weights.ts";
import {
  type Entry,
  LEAST_NUMBER_BYTES,
  hasNumbers,
  numbersOf,
  otherType,
  useSafetensors,
} from "./safetensors.ts";
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

/** A tensor in a file. */
export interface PlacedEntry {
  path: string;
  entry: Entry;
}

interface Options {
  /** The file that names them all, for errors. Default: the first. */
  label?: string | undefined;
  /** What the tensors are called that are stored under these names. */
  rename?: (stored: ReadonlySet<string>) => (name: string) => string;
}

/** All tensors of some files, by their names. */
export interface TensorFiles {
  has: (name: string) => boolean;
  /** Where a tensor lies. */
  find: (name: string) => PlacedEntry | undefined;
  /**
   * @throws KitError `CHECKPOINT_INVALID` when one of these is missing, has other dimensions or is of a
   * type that is not read
   */
  choose: (shapes: Record<string, number[]>) => WeightsFile;
}

/**
 * Lists the tensors of safetensors files.
 * @param counts how many there are at least, so that none is listed when the files cannot hold them
 * @throws KitError `CHECKPOINT_INVALID` when a file is missing or damaged
 */
export function openTensors(
  files: string[],
  counts: WeightCounts,
  { label = files[0], rename = () => (name) => name }: Options = {},
): TensorFiles {
  const invalid = (problem: string) =>
    new KitError("CHECKPOINT_INVALID", `${label}${problem}. Save or download it again.`);
  const { tensors, numbers } = counts;
  const stored = new Map<string, PlacedEntry>();
  const sizes = files.map((path) =>
    useSafetensors(path, ({ size, headerBytes }) => ({ size, headerBytes })),
  );
  const bytes = sizes.reduce((sum, { size }) => sum + size, 0);
  const headerBytes = sizes.reduce((sum, one) => sum + one.headerBytes, 0);
  const isTooSmall = numbers * LEAST_NUMBER_BYTES > bytes;
  if (tensors * LEAST_ENTRY_BYTES > headerBytes) throw tooSmall();
  for (const path of files) {
    const entries = useSafetensors(path, (file) => file.entries(tensors));
    for (const [name, entry] of entries) stored.set(name, { path, entry });
  }
  if (isTooSmall) throw smallType() ?? tooSmall();
  const nameOf = rename(new Set(stored.keys()));
  const found = new Map([...stored].map(([name, placed]) => [nameOf(name), placed]));

  function tooSmall(): KitError {
    return invalid(
      `: its config claims ${tensors} tensors of ${numbers} numbers, and it has ${bytes} bytes`,
    );
  }

  /** Of a file that is small because its numbers are. */
  function smallType(): KitError | undefined {
    const other = [...stored].find(([, { entry }]) => entry.shape.length > 1 && !hasNumbers(entry));
    return other && otherType(`${label}`, other[0], other[1].entry);
  }

  function choose(shapes: Record<string, number[]>): WeightsFile {
    const chosen = Object.entries(shapes).map(([name, shape]) => {
      const place = found.get(name);
      const expected = shape.join(" × ");
      if (!place) throw invalid(`: ${name} is missing (expected ${expected})`);
      const dimensions = place.entry.shape.join(" × ");
      if (dimensions !== expected) throw invalid(`: ${name} is ${dimensions}, not ${expected}`);
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

  return { has: (name) => found.has(name), find: (name) => found.get(name), choose };
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
