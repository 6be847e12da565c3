import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { EngineError } from "../error.ts";

const MEBIBYTE = 2 ** 20;
const CHUNK_BYTES = MEBIBYTE;
/** A longer line is refused: while it is parsed it takes several times its size. */
const LONGEST_LINE_MIB = 64;
const LONGEST_LINE_BYTES = LONGEST_LINE_MIB * MEBIBYTE;

/** Is called whenever more of a file is read, with how much of it is. */
export type OnRead = (bytes: number, fileBytes: number) => void;

/**
 * What is parsed of the lines of a text file that are not blank, each without the spaces around it.
 * Holds only one of them at once.
 * @throws EngineError `DATASET_UNREADABLE` without a file, `DATASET_INVALID` with file and line
 */
export function* readLines<T>(
  path: string,
  parse: (line: string, where: string) => T,
  onRead?: OnRead,
): Generator<T> {
  const file = readable(path, () => openSync(path, "r"));
  try {
    const { size } = fstatSync(file);
    let buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    /** Of the buffer, what is not yet a line: from `start` to `end`. */
    let start = 0;
    let end = 0;
    let read = 0;
    for (let number = 1, isOver = false; !isOver || start < end;) {
      const where = `${path}:${number}`;
      const newline = buffer.subarray(0, end).indexOf(NEWLINE, start);
      if (newline === -1 && !isOver) {
        const rest = end - start;
        if (rest > LONGEST_LINE_BYTES) {
          throw new EngineError(
            "DATASET_INVALID",
            `${where}: a row of more than ${LONGEST_LINE_MIB} MiB: write it as several rows.`,
          );
        }
        // Doubled for a long line, and small again behind it.
        const length = Math.max(CHUNK_BYTES, Math.min(2 * rest, LONGEST_LINE_BYTES + CHUNK_BYTES));
        buffer = moved(buffer, start, end, length);
        const count = readable(path, () => readSync(file, buffer, rest, length - rest, null));
        [start, end] = [0, rest + count];
        read += count;
        isOver = count === 0;
        if (!isOver) onRead?.(read, size);
        continue;
      }
      const lineEnd = newline === -1 ? end : newline;
      const text = decode(buffer.subarray(start, lineEnd), where);
      start = Math.min(end, lineEnd + 1);
      number++;
      if (text === "") continue;
      if (buffer.length > CHUNK_BYTES && end - start < CHUNK_BYTES) {
        buffer = moved(buffer, start, end, CHUNK_BYTES);
        [start, end] = [0, end - start];
      }
      yield parse(text, where);
    }
  } finally {
    closeSync(file);
  }
}

/** A part of a buffer at the start of one of some length, which is the same if it has it. */
function moved(
  buffer: Buffer<ArrayBuffer>,
  start: number,
  end: number,
  length: number,
): Buffer<ArrayBuffer> {
  const target = buffer.length === length ? buffer : Buffer.allocUnsafe(length);
  buffer.copy(target, 0, start, end);
  return target;
}

const NEWLINE = 0x0a;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decode(bytes: Buffer, where: string): string {
  try {
    // Trims a byte order mark, too.
    return decoder.decode(bytes).trim();
  } catch (cause) {
    throw new EngineError("DATASET_INVALID", `${where}: not UTF-8: save the file as UTF-8.`, {
      cause,
    });
  }
}

const PROBLEMS: Record<string, string> = {
  ENOENT: "there is no such file",
  EISDIR: "it is a folder, not a file",
};

function readable<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = PROBLEMS[code ?? ""] ?? message;
    throw new EngineError(
      "DATASET_UNREADABLE",
      `Cannot read the dataset ${path}: ${why}. Check dataset.path, which is relative to the project.`,
      { cause },
    );
  }
}
