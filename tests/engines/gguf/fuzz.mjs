// Opens a GGUF file that is damaged in many ways: fuzz.mjs <dist> <file> <count> [read]
// `read`: the weights of those that still open. Prints how many opened, what others were refused with, each kind of
// sentence once, and by how many bytes the process has grown.
import {
  closeSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

const [dist, path, count, reads] = process.argv.slice(2);
const { openCheckpoint } = await import(join(dist, "engines/checkpoint/checkpoint.js"));
const { assertReadable } = await import(join(dist, "engines/modelFiles/tensors.js"));

/** Bytes at the beginning that most damage hits: the header, and a little of the numbers. */
const HEADER = 48 * 1024;
/** Bytes at the end that a truncation takes. */
const TAIL = 4096;

let state = 1;
const below = (limit) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * limit);
};

const file = openSync(path, "r+");
const { size } = fstatSync(file);
open();
const before = highWater();
const told = { opened: 0, refused: 0, sentences: {}, others: [] };
for (let i = 0; i < Number(count); i++) {
  const undo = damage();
  try {
    open();
    told.opened++;
  } catch (error) {
    if (error.code === "CHECKPOINT_INVALID" && !error.message.includes("\n")) {
      told.refused++;
      const kind = error.message.replaceAll(path, "…").replaceAll(/\d+/g, "n").slice(0, 60);
      told.sentences[kind] = (told.sentences[kind] ?? 0) + 1;
    } else if (told.others.length < 5) told.others.push(`${i}: ${error.code} ${error.stack}`);
  }
  undo();
}
closeSync(file);
console.log(JSON.stringify({ ...told, grown: highWater() - before }));

function open() {
  const { weights } = openCheckpoint(path);
  if (reads) assertReadable(weights);
}

/** @returns repairs it */
function damage() {
  const kind = below(20);
  if (kind === 0) {
    const cut = 1 + below(kind === 0 && below(2) ? TAIL : Math.min(size - 1, HEADER));
    const rest = bytesAt(size - cut, cut);
    ftruncateSync(file, size - cut);
    return () => void writeSync(file, rest, 0, cut, size - cut);
  }
  if (kind === 1) {
    writeSync(file, Buffer.alloc(1 + below(100)), 0, undefined, size);
    return () => ftruncateSync(file, size);
  }
  const undone = Array.from({ length: 1 + below(3) }, () => {
    const length = [1, 1, 2, 4, 8][below(5)];
    const at = below(Math.min(size, below(10) ? HEADER : size) - length);
    const old = bytesAt(at, length);
    const fresh = Buffer.from(old);
    const how = below(4);
    for (let k = 0; k < length; k++) {
      if (how === 0) fresh[k] = 0xff;
      else if (how === 1) fresh[k] = 0;
      else if (how === 2) fresh[k] ^= 1 << below(8);
      else fresh[k] = below(256);
    }
    writeSync(file, fresh, 0, length, at);
    return () => void writeSync(file, old, 0, length, at);
  });
  return () => undone.toReversed().forEach((undo) => undo());
}

function bytesAt(at, length) {
  const bytes = Buffer.alloc(length);
  readSync(file, bytes, 0, length, at);
  return bytes;
}

/** The most that this process has had, in bytes. */
function highWater() {
  const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"));
  return Number(kib) * 1024;
}
