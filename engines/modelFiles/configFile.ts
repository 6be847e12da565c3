import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { MAX_CONFIG_MIB, MAX_TOKENIZER_MIB } from "./names.ts";
import { type OpenFile, readFully, useFile, useFileIfThere } from "./regularFile.ts";

export type Config = Record<string, unknown>;

/**
 * Reads a JSON config; undefined for a missing optional one.
 * @throws KitError `CHECKPOINT_INVALID` if it is missing or damaged
 */
export function readConfig(path: string): Config;
export function readConfig(path: string, optional: "optional", maxMib?: number): Config | undefined;
export function readConfig(
  path: string,
  optional?: "optional",
  maxMib = MAX_CONFIG_MIB,
): Config | undefined {
  return optional ? useFileIfThere(path, parse) : useFile(path, parse);

  function parse(file: OpenFile): Config {
    let value: unknown;
    // Editors on Windows may save a byte order mark.
    const text = bytesOf(path, file, maxMib)
      .toString()
      .replace(/^\uFEFF/, "");
    try {
      value = JSON.parse(text);
    } catch (cause) {
      throw invalid(path, "is not valid JSON", cause);
    }
    if (isRecord(value)) return value;
    throw invalid(path, "is not a JSON object");
  }
}

/** A text file's content; undefined if it is missing. @throws KitError `CHECKPOINT_INVALID` */
export function readText(path: string): string | undefined {
  return useFileIfThere(path, (file) => bytesOf(path, file, MAX_CONFIG_MIB).toString());
}

/** A tokenizer file's bytes; undefined if it is missing. @throws KitError `CHECKPOINT_INVALID` */
export function readBytes(path: string): Buffer | undefined {
  return useFileIfThere(path, (file) => bytesOf(path, file, MAX_TOKENIZER_MIB));
}

function bytesOf(path: string, { file, size }: OpenFile, maxMib: number): Buffer {
  if (size > maxMib * 2 ** 20) throw invalid(path, `is larger than ${maxMib} MiB`);
  const bytes = Buffer.alloc(size);
  readFully(file, bytes, 0);
  return bytes;
}

function invalid(path: string, problem: string, cause?: unknown): KitError {
  return new KitError("CHECKPOINT_INVALID", `${path} ${problem}. Save or download it again.`, {
    cause,
  });
}
