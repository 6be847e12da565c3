import { printableLines } from "../../protocol/printable.ts";
import { asKits } from "./outputLimit.ts";

/**
 * Prints text from any source with its control characters escaped. Everything that Kit prints goes through
 * here; the project's own code prints as it likes.
 */
export function print(text: string): void {
  asKits(() => console.log(printableLines(text)));
}

/** As {@link print}, of a part of a line or several. */
export function printPart(text: string): void {
  process.stdout.write(printableLines(text));
}

/** As {@link print}, on stderr. */
export function printError(text: string): void {
  asKits(() => console.error(printableLines(text)));
}
