import { inspect } from "node:util";
import { reportToUi } from "../../jobs/remote/followerMessage.ts";
import { type ErrorCode, cannotWrite, isKitError, messageOf } from "../../protocol/error.ts";
import { printableNote } from "../../protocol/printable.ts";
import { EXIT_CODE, lastExitCode } from "../process/exitCode.ts";
import { printJsonError } from "./json.ts";
import { printError, printFailure } from "./print.ts";

/** Error codes of wrong command lines. */
const USAGE_ERRORS = new Set<ErrorCode>([
  "PROJECT_NOT_FOUND",
  "ENTRY_NOT_FOUND",
  "NAME_INVALID",
  "HOST_INVALID",
  "TOKEN_INVALID",
  "KEY_INVALID",
  "USAGE_INVALID",
  "JOB_NOT_FOUND",
  "CANNOT_DETACH",
]);

/** Prints an error that ends the command, with `--json` also as JSON. Returns the exit code. */
export function reportError(error: unknown): number {
  printJsonError(error);
  return showError(error);
}

/** Prints the error's sentence, and its stack under `DEBUG=kit`. Returns the exit code. */
export function showError(error: unknown): number {
  const text = printableNote(messageOf(error));
  printFailure(`kit: ${text}`);
  reportToUi({ kind: "refused", text, code: isKitError(error) ? error.code : undefined });
  if (process.env.DEBUG === "kit") printError(inspect(error));
  const isUsageError = isKitError(error) && USAGE_ERRORS.has(error.code);
  return isUsageError ? EXIT_CODE.usageError : EXIT_CODE.failed;
}

/**
 * Lets a command finish when its output can't be written, as on a full disk, and makes it exit with
 * an error. Ignores EPIPE: `kit start | head` must not stop the run.
 */
export function watchOutput(): void {
  let lost: NodeJS.ErrnoException | undefined;
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    lost ??= error;
  });
  process.stderr.on("error", () => undefined);
  process.on("exit", (code) => {
    // The process may exit before the last write's event.
    lost ??= process.stdout.errored ?? undefined;
    if (!lost || lost.code === "EPIPE") return;
    reportError(cannotWrite("write the output", lost));
    if (code === EXIT_CODE.completed) process.exitCode = lastExitCode(EXIT_CODE.failed);
  });
}
