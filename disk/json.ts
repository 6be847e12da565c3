import { closeSync, readFileSync } from "node:fs";
import { isRecord, parseRecord } from "../protocol/isRecord.ts";
import { cannotRead, openIfThere, readRegularFile, stampOf } from "./file.ts";

/** A file's JSON, and its stamp from before it was read. */
export interface StampedJson {
  /** Undefined when it is longer than `most` bytes or does not parse. */
  value: unknown;
  stamp: string;
}

/** A longer file isn't Kit's. */
const MAX_BYTES = 1024 * 1024;

/** Undefined when the file is missing or unreadable. */
export function readStampedJson(path: string, maxBytes = MAX_BYTES): StampedJson | undefined {
  return readRegularFile<StampedJson | undefined>(path, undefined, (file, stats) => {
    const text = stats.size > maxBytes ? "" : readFileSync(file, "utf8");
    return { value: parseJson(text), stamp: stampOf(stats) };
  });
}

/** The file's JSON, or undefined when it is missing, longer than `most` bytes or does not parse. */
export function readJson(path: string, maxBytes?: number): unknown {
  return readStampedJson(path, maxBytes)?.value;
}

/** The JSON object that a file holds; undefined when it holds none. */
export function readRecord(path: string): Record<string, unknown> | undefined {
  const value = readJson(path);
  return isRecord(value) ? value : undefined;
}

/**
 * The JSON object that a file holds, empty when it holds none; undefined for a missing file.
 * @throws KitError `CANNOT_READ`
 */
export function readExisting(path: string): Record<string, unknown> | undefined {
  const file = openIfThere(path);
  if (file === undefined) return undefined;
  try {
    return parseRecord(readFileSync(file, "utf8"));
  } catch (error) {
    throw cannotRead(path, error);
  } finally {
    closeSync(file);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Torn by a crash of the machine, or not ours.
    return undefined;
  }
}
