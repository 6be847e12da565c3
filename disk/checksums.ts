import { closeSync, readSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { isRecord } from "../protocol/isRecord.ts";
import { cannotRead, openIfExists, statsOf } from "./file.ts";
import { readExisting } from "./json.ts";

/** The file of a checkpoint's checksums, which every engine writes. */
export const CHECKSUMS_FILE = "checksums.json";

/** Against damage, not against an attacker: CRC-32 takes half of SHA-256's time. */
interface Checksum {
  /** In bytes. */
  size: number;
  /** Eight hexadecimal digits. */
  crc32: string;
}

/** The checksum of concatenated parts. */
export function checksumOf(parts: Iterable<string | Uint8Array>): Checksum {
  let [size, sum] = [0, 0];
  for (const part of parts) {
    size += Buffer.byteLength(part);
    sum = crc32(part, sum);
  }
  return { size, crc32: sum.toString(16).padStart(8, "0") };
}

/**
 * The first file with a wrong checksum; undefined if all match or the directory has no checksums. Ignores
 * removed files.
 * @throws KitError `CANNOT_READ`
 */
export function damagedFile(directory: string): string | undefined {
  const list = join(directory, CHECKSUMS_FILE);
  const saved = readExisting(list);
  if (!saved) return statsOf(list) && list;
  if (Object.keys(saved).length === 0) return list;
  const unlisted = readdirSync(directory).find(
    (name) => MUST_BE_LISTED.test(name) && !IGNORED.test(name) && !(name in saved),
  );
  if (unlisted !== undefined) return join(directory, unlisted);
  return Object.entries(saved)
    .map(([name, checksum]) => ({ path: join(directory, name), checksum }))
    .find(({ path, checksum }) => !matchesChecksum(path, checksum))?.path;
}

/** What macOS writes beside a file on a disk without its attributes, such as a network's or a stick's. */
const IGNORED = /^\._/;
/** Files that must have a checksum: those that resuming reads. */
const MUST_BE_LISTED = /\.(safetensors|pt|pth|bin)$|^trainer_state\.json$/;

function matchesChecksum(path: string, saved: unknown): boolean {
  const file = openIfExists(path);
  if (file === undefined) return true;
  try {
    const { size, crc32 } = checksumOf(blocksOf(file));
    return isRecord(saved) && saved["size"] === size && saved["crc32"] === crc32;
  } catch (error) {
    throw cannotRead(path, error);
  } finally {
    closeSync(file);
  }
}

const BLOCK_BYTES = 2 ** 20;

/** Yields blocks that share one buffer. */
function* blocksOf(file: number): Generator<Uint8Array> {
  const buffer = Buffer.allocUnsafe(BLOCK_BYTES);
  for (;;) {
    const count = readSync(file, buffer);
    if (count === 0) return;
    yield buffer.subarray(0, count);
  }
}
