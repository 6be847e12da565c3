import type { ErrorCode } from "./errorCode.ts";

/** An error that the reader can act on: its message says what to do, its code is for programs. */
export class KitError extends Error {
  override readonly name = "KitError";
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** By its name, because a project's own copy of Kit brings a class of its own. */
export function isKitError(error: unknown): error is KitError {
  return error instanceof Error && error.name === "KitError";
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether a training elsewhere cannot be asked, so that nobody here knows whether it goes on. */
export function isOutOfReach(error: unknown): boolean {
  if (!isKitError(error)) return false;
  return error.code === "CLUSTER_UNREACHABLE" || error.code === "CLUSTER_REFUSED";
}
