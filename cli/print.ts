import { printableLines } from "../protocol/printable.ts";

/**
 * The way to the terminal for all that Kit prints, whoever wrote the text: a terminal shows it and obeys
 * none of it. The project's own code prints as it likes.
 */
export function print(text: string): void {
  console.log(printableLines(text));
}

/** As {@link print}, on stderr. */
export function printError(text: string): void {
  console.error(printableLines(text));
}
