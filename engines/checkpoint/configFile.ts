import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { type OpenFile, readWhole, useFile, useFileIfThere } from "./plainFile.ts";

/** A configuration takes a few KiB, the index of a model in a hundred files less than one MiB. */
const MOST_CONFIG_BYTES = 4 * 2 ** 20;

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
      new KitError("CHECKPOINT_INVALID", `${path} ${problem}. Save or download it again.`, {
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
