import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { MOST_CONFIG_MIB, MOST_TOKENIZER_MIB } from "./names.ts";
import { type OpenFile, readWhole, useFile, useFileIfThere } from "./plainFile.ts";

/** A JSON configuration. */
export type Config = Record<string, unknown>;

/**
 * Reads a JSON configuration; an optional one may be absent.
 * @throws KitError `CHECKPOINT_INVALID` when it is missing or damaged
 */
export function readConfig(path: string): Config;
export function readConfig(path: string, optional: "optional", most?: number): Config | undefined;
export function readConfig(
  path: string,
  optional?: "optional",
  most = MOST_CONFIG_MIB,
): Config | undefined {
  return optional ? useFileIfThere(path, parse) : useFile(path, parse);

  function parse(file: OpenFile): Config {
    let value: unknown;
    const text = bytesOf(path, file, most).toString();
    try {
      value = JSON.parse(text);
    } catch (cause) {
      throw invalid(path, "is not valid JSON", cause);
    }
    if (isRecord(value)) return value;
    throw invalid(path, "is not a JSON object");
  }
}

/** A text file's content, or undefined without it. @throws KitError `CHECKPOINT_INVALID` */
export function readText(path: string): string | undefined {
  return useFileIfThere(path, (file) => bytesOf(path, file, MOST_CONFIG_MIB).toString());
}

/** Any file of a tokenizer, or undefined without it. @throws KitError `CHECKPOINT_INVALID` */
export function readBytes(path: string): Buffer | undefined {
  return useFileIfThere(path, (file) => bytesOf(path, file, MOST_TOKENIZER_MIB));
}

function bytesOf(path: string, { file, size }: OpenFile, most: number): Buffer {
  if (size > most * 2 ** 20) throw invalid(path, `is larger than ${most} MiB`);
  const bytes = Buffer.alloc(size);
  readWhole(file, bytes, 0);
  return bytes;
}

function invalid(path: string, problem: string, cause?: unknown): KitError {
  return new KitError("CHECKPOINT_INVALID", `${path} ${problem}. Save or download it again.`, {
    cause,
  });
}
