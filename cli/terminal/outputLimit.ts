/** More than a page shows. A loop that prints would fill the disk. */
const MAX_BYTES = 256 * 2 ** 20;

let isKits = false;

/** Whatever is printed meanwhile is Kit's own, which no limit drops. */
export function asKits(print: () => void): void {
  const before = isKits;
  isKits = true;
  print();
  isKits = before;
}

/** Drops what the project's code prints beyond a limit, in a process whose output is kept. */
export function limitOutput(maxBytes = MAX_BYTES): void {
  let left = maxBytes;
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
    const limited = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
      const hadRoom = left >= 0;
      if (!isKits) left -= Buffer.byteLength(chunk);
      if (isKits || left >= 0) return write(chunk, ...rest);
      if (hadRoom)
        write("\nwarning: the project's code printed too much; the rest of it is dropped\n");
      const done = rest.at(-1);
      if (typeof done === "function") process.nextTick(done);
      return true;
    };
    stream.write = limited;
  }
}
