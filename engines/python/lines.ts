/** The most bytes that a line of another program may have: more than any message of Kit's. */
const MOST_LINE_BYTES = 16 * 2 ** 20;

/**
 * Splits the output of another program into lines. Drops a line without an end, which would take all
 * memory.
 * @returns a function that takes the next bytes and returns the lines that they complete, without
 * their ends
 */
export function createLineSplitter(most = MOST_LINE_BYTES): (chunk: Buffer) => string[] {
  let parts: Buffer[] = [];
  let bytes = 0;

  function keep(part: Buffer): void {
    bytes += part.length;
    if (bytes > most) parts = [];
    else parts.push(part);
  }

  function complete(part: Buffer): string[] {
    keep(part);
    const line = bytes > most ? [] : [Buffer.concat(parts).toString()];
    parts = [];
    bytes = 0;
    return line;
  }

  return function split(chunk) {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf("\n"); end >= 0; end = chunk.indexOf("\n", start)) {
      lines.push(...complete(chunk.subarray(start, end)));
      start = end + 1;
    }
    if (start < chunk.length) keep(chunk.subarray(start));
    return lines;
  };
}
