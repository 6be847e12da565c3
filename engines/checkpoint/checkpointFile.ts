import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import type { StoredWeights } from "../llama/storedWeights.ts";
import type { WeightCounts } from "../llama/weights.ts";
import { type OpenFile, readWhole, useFile, useFileIfThere } from "./plainFile.ts";
import {
  type Entry,
  type SafetensorsFile,
  LEAST_NUMBER_BYTES,
  useSafetensors,
} from "./safetensors.ts";

/** A configuration takes a few KiB, that of a tokenizer with many specials less than one MiB. */
const MOST_CONFIG_BYTES = 4 * 2 ** 20;
/** A tensor's name, type, dimensions and place, as short as they can be written. */
const LEAST_ENTRY_BYTES = 50;

/** Tensors in a file, which are read when they are wanted. */
export interface WeightsFile {
  /** Names of those that are bfloat16. */
  bfloat16: ReadonlySet<string>;
  /** @throws KitError `CHECKPOINT_INVALID` when one is cut off or not finite */
  read: () => StoredWeights;
}

/**
 * Finds tensors by their names and dimensions; the file may have others too.
 * @param counts how many there are, so that none is listed when the file cannot hold them
 * @throws KitError `CHECKPOINT_INVALID` when one is missing or has another shape
 */
export function openWeights(
  path: string,
  counts: WeightCounts,
  shapes: () => Record<string, number[]>,
): WeightsFile {
  const invalid = (problem: string) =>
    new KitError("CHECKPOINT_INVALID", `${path}${problem}. Use a checkpoint that Kit saved.`);

  function wanted({ size, headerBytes, entries }: SafetensorsFile): [string, Entry][] {
    const { tensors, numbers } = counts;
    if (numbers * LEAST_NUMBER_BYTES > size || tensors * LEAST_ENTRY_BYTES > headerBytes) {
      throw invalid(
        ` cannot hold the ${tensors} tensors of ${numbers} numbers that its config claims`,
      );
    }
    const found = entries(tensors);
    return Object.entries(shapes()).map(([name, shape]) => {
      const entry = found.get(name);
      const dimensions = entry?.shape.join(" × ") ?? "missing";
      if (entry && dimensions === shape.join(" × ")) return [name, entry];
      throw invalid(`: ${name} is ${dimensions}, not ${shape.join(" × ")}`);
    });
  }

  const halves = useSafetensors(path, wanted).filter(([, { dtype }]) => dtype === "BF16");
  const read = () =>
    useSafetensors(path, (file) =>
      Object.fromEntries(wanted(file).map(([name, entry]) => [name, file.read(name, entry)])),
    );
  return { bfloat16: new Set(halves.map(([name]) => name)), read };
}

/**
 * Reads a JSON configuration; an optional one may be absent.
 * @throws KitError `CHECKPOINT_INVALID` when it is missing or damaged
 */
export function readConfig(path: string): Record<string, unknown>;
export function readConfig(path: string, optional: "optional"): Record<string, unknown> | undefined;
export function readConfig(
  path: string,
  optional?: "optional",
): Record<string, unknown> | undefined {
  return optional ? useFileIfThere(path, parse) : useFile(path, parse);

  function parse({ file, size }: OpenFile): Record<string, unknown> {
    const invalid = (problem: string, cause?: unknown) =>
      new KitError("CHECKPOINT_INVALID", `${path} ${problem}. Use a checkpoint that Kit saved.`, {
        cause,
      });
    if (size > MOST_CONFIG_BYTES)
      throw invalid(`is larger than ${MOST_CONFIG_BYTES / 2 ** 20} MiB`);
    const bytes = Buffer.alloc(size);
    let value: unknown;
    try {
      readWhole(file, bytes, 0);
      value = JSON.parse(bytes.toString());
    } catch (cause) {
      throw invalid("is not valid JSON", cause);
    }
    if (isRecord(value)) return value;
    throw invalid("is not a JSON object");
  }
}
