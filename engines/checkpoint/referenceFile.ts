import { readFileSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomically } from "../../disk/file.ts";
import { cannotWrite } from "../../protocol/cannotWrite.ts";
import { isRecord } from "../../protocol/isRecord.ts";

/** By the content of an example: of each of its sequences the log probability, in nats. */
export type KnownSums = ReadonlyMap<string, readonly number[]>;

/** In a job's directory: what the model before the training gives to the rows. */
const REFERENCE_FILE = "reference.json";

/** Empty for a file that is missing or damaged: it can be computed again. */
export function readReference(directory: string | undefined): KnownSums {
  if (directory === undefined) return new Map();
  try {
    const read: unknown = JSON.parse(readFileSync(join(directory, REFERENCE_FILE), "utf8"));
    const entries = isRecord(read) ? Object.entries(read) : [];
    return new Map(entries.filter((entry): entry is [string, number[]] => isSums(entry[1])));
  } catch {
    return new Map();
  }
}

/** @throws KitError `CANNOT_WRITE` */
export function writeReference(directory: string, known: KnownSums): void {
  const path = join(directory, REFERENCE_FILE);
  try {
    writeFileAtomically(path, JSON.stringify(Object.fromEntries(known)), { flush: true });
  } catch (error) {
    throw cannotWrite(`write ${path}`, error);
  }
}

function isSums(value: unknown): value is number[] {
  return Array.isArray(value) && value.every(Number.isFinite);
}
