import type { ErrorCode } from "../protocol/errorCode.ts";
import { isKitError, messageOf } from "../protocol/error.ts";

const EXIT_FAILED = 1;
const EXIT_WRONG_USE = 2;

/** Errors of how the command was called, not of what it did. */
const WRONG_USE = new Set<ErrorCode>([
  "PROJECT_NOT_FOUND",
  "ENTRY_NOT_FOUND",
  "INVALID_NAME",
  "INVALID_HOST",
  "INVALID_TOKEN",
]);

/** Prints one line that says what to do, the stack only for `DEBUG=kit`. Returns the exit code. */
export function reportError(error: unknown): number {
  console.error(`kit: ${messageOf(error)}`);
  if (process.env.DEBUG === "kit") console.error(error);
  return isKitError(error) && WRONG_USE.has(error.code) ? EXIT_WRONG_USE : EXIT_FAILED;
}
