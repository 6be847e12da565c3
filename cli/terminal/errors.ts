import { inspect } from "node:util";
import { tellServer } from "../../jobs/remote/followerMessage.ts";
import { isKitError, messageOf } from "../../protocol/error.ts";
import type { ErrorCode } from "../../protocol/errorCode.ts";
import { printableNote } from "../../protocol/printable.ts";
import { EXIT_CODE } from "../process/exitCode.ts";
import { printError } from "./print.ts";

/** Codes of errors in how the command was called. */
const WRONG_USE = new Set<ErrorCode>([
  "PROJECT_NOT_FOUND",
  "ENTRY_NOT_FOUND",
  "NAME_INVALID",
  "HOST_INVALID",
  "TOKEN_INVALID",
  "KEY_INVALID",
  "PROMPT_INVALID",
  "JOB_NOT_FOUND",
  "CANNOT_DETACH",
]);

/** Prints the error's sentence, and its stack under `DEBUG=kit`. Returns the exit code. */
export function reportError(error: unknown): number {
  const text = printableNote(messageOf(error));
  printError(`kit: ${text}`);
  tellServer({ kind: "refused", text, code: isKitError(error) ? error.code : undefined });
  if (process.env.DEBUG === "kit") printError(inspect(error));
  const isWrongUse = isKitError(error) && WRONG_USE.has(error.code);
  return isWrongUse ? EXIT_CODE.wrongUse : EXIT_CODE.failed;
}
