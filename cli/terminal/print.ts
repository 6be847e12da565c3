import { printableLines } from "../../protocol/printable.ts";
import { type Style, styled } from "./style.ts";

/** Keeps a loop that prints from filling the disk. */
const MAX_BYTES = 256 * 2 ** 20;

/**
 * Prints text from any source with its control characters escaped. Everything that Kit prints goes through
 * here; the project's own code prints as it likes.
 */
export function print(text: string, style?: Style): void {
  const escaped = printableLines(text);
  asKit(() => console.log(style ? styled(style, escaped) : escaped));
}

/** Like {@link print}, without adding a newline. */
export function printInline(text: string): void {
  process.stdout.write(printableLines(text));
}

/** Like {@link print}, on stderr. */
export function printError(text: string): void {
  asKit(() => console.error(printableLines(text)));
}

/** Like {@link printError}, in red. */
export function printFailure(text: string): void {
  asKit(() => console.error(styled("red", printableLines(text), process.stderr)));
}

let isKit = false;

/** Exempts what `print` writes from `limitOutput`. */
function asKit(print: () => void): void {
  const before = isKit;
  isKit = true;
  print();
  isKit = before;
}

/** Drops what the project's code prints beyond a limit, in a process whose output is kept. */
export function limitOutput(maxBytes = MAX_BYTES): void {
  let remaining = maxBytes;
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
    const limited = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
      const wasWithin = remaining >= 0;
      if (!isKit) remaining -= Buffer.byteLength(chunk);
      if (isKit || remaining >= 0) return write(chunk, ...rest);
      if (wasWithin)
        write("\nwarning: the project's code printed too much; the rest of it is dropped\n");
      const done = rest.at(-1);
      if (typeof done === "function") process.nextTick(done);
      return true;
    };
    stream.write = limited;
  }
}
