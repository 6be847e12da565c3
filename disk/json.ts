import { closeSync, readFileSync } from "node:fs";
import { isRecord, parseRecord } from "../protocol/isRecord.ts";
import { cannotRead, openIfExists, readRegularFile, stampOf } from "./file.ts";

/** A file's JSON, and its stamp before reading. */
export interface StampedJson {
  /** Undefined when it is longer than `maxBytes` or does not parse. */
  value: unknown;
  stamp: string;
}

/** Kit's files are never longer. */
const MAX_BYTES = 1024 * 1024;

/** Undefined when the file is missing or unreadable. */
export function readStampedJson(path: string, maxBytes = MAX_BYTES): StampedJson | undefined {
  return readRegularFile<StampedJson | undefined>(path, undefined, (file, stats) => {
    const text = stats.size > maxBytes ? "" : readFileSync(file, "utf8");
    return { value: parseJson(text), stamp: stampOf(stats) };
  });
}

/** A file's JSON; undefined when it is missing, longer than `maxBytes` or does not parse. */
export function readJson(path: string, maxBytes?: number): unknown {
  return readStampedJson(path, maxBytes)?.value;
}

/** A file's JSON object; undefined for anything else. */
export function readRecord(path: string): Record<string, unknown> | undefined {
  const value = readJson(path);
  return isRecord(value) ? value : undefined;
}

/**
 * A file's JSON object, empty for anything else; undefined for a missing file.
 * @throws KitError `CANNOT_READ`
 */
export function readExisting(path: string): Record<string, unknown> | undefined {
  const file = openIfExists(path);
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
    // Half written in a crash of the machine, or not Kit's.
    return undefined;
  }
}
