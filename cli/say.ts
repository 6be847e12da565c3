import { printableLines } from "../protocol/printable.ts";
import { print } from "./print.ts";

/**
 * Prints what Kit itself says of a job, and tells it to the `kit ui` that follows the job by this
 * process: over a channel of its own, since the project's code prints what it likes.
 */
export function say(text: string, to = print): void {
  to(text);
  // The kit ui may have ended meanwhile.
  if (process.connected) process.send?.(printableLines(text), () => undefined);
}
