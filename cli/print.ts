import { printableLines } from "../protocol/printable.ts";

/**
 * Prints text from any source with its control characters escaped. Everything that Kit prints goes through
 * here; the project's own code prints as it likes.
 */
export function print(text: string): void {
  console.log(printableLines(text));
}

/** As {@link print}, on stderr. */
export function printError(text: string): void {
  console.error(printableLines(text));
}
