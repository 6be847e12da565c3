/** Longer than any message of Kit. */
const MAX_LINE_BYTES = 16 * 2 ** 20;

/**
 * Splits another program's output into lines. Drops endless lines, which would exhaust memory.
 * @returns a function that takes the next bytes and returns the lines that they complete
 */
export function createLineSplitter(maxBytes = MAX_LINE_BYTES): (chunk: Buffer) => string[] {
  let parts: Buffer[] = [];
  let bytes = 0;

  function keep(part: Buffer): void {
    bytes += part.length;
    if (bytes > maxBytes) parts = [];
    else parts.push(part);
  }

  function complete(part: Buffer): string[] {
    keep(part);
    const line = bytes > maxBytes ? [] : [Buffer.concat(parts).toString()];
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
