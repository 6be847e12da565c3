import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import type { WeightCounts, Weights } from "../llama/weights.ts";
import { type OpenFile, readWhole, useFile, useFileIfThere } from "./plainFile.ts";
import { FLOAT_BYTES, useSafetensors } from "./safetensors.ts";

/** A configuration takes a few KiB, that of a tokenizer with many specials less than one MiB. */
const MOST_CONFIG_BYTES = 4 * 2 ** 20;
/** A tensor's name, type, dimensions and place, as short as they can be written. */
const LEAST_ENTRY_BYTES = 50;

/**
 * Reads tensors by their names and dimensions; the file may have others too.
 * @param counts how many there are, so that none is listed when the file cannot hold them
 * @throws KitError `CHECKPOINT_INVALID` when one is missing or has another shape
 */
export function readWeights(
  path: string,
  counts: WeightCounts,
  shapes: () => Record<string, number[]>,
): Weights {
  const invalid = (problem: string) =>
    new KitError("CHECKPOINT_INVALID", `${path}${problem}. Use a checkpoint that Kit saved.`);
  return useSafetensors(path, ({ size, headerBytes, entries, read }) => {
    const { tensors, numbers } = counts;
    if (numbers * FLOAT_BYTES > size || tensors * LEAST_ENTRY_BYTES > headerBytes) {
      throw invalid(
        ` cannot hold the ${tensors} tensors of ${numbers * FLOAT_BYTES} bytes that its config claims`,
      );
    }
    const found = entries(tensors);
    const expected = Object.entries(shapes());
    for (const [name, shape] of expected) {
      const dimensions = found.get(name)?.shape.join(" × ") ?? "missing";
      if (dimensions !== shape.join(" × ")) {
        throw invalid(`: ${name} is ${dimensions}, not ${shape.join(" × ")}`);
      }
    }
    return Object.fromEntries(expected.map(([name]) => [name, read(name, found.get(name)!)]));
  });
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
