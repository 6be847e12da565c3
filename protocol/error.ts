import type { ErrorCode } from "./errorCode.ts";

/** What of a request an error is about. */
export interface RequestFault {
  /** The option of `infer`, such as `schema` or `tools[1].function.parameters`. */
  option: string;
  /** Whether it is longer than the model's context. */
  isTooLong?: boolean;
}

/** An error that the reader can act on: its message says what to do, its code is for programs. */
export class KitError extends Error {
  /** By which a copy of Kit knows the errors of another. */
  override readonly name = "KitError";
  /** Stable, for programs; `docs/errors.md` has them all. */
  readonly code: ErrorCode;
  /** Of an error about a request. */
  readonly fault?: RequestFault;

  constructor(
    code: ErrorCode,
    message: string,
    { fault, ...options }: ErrorOptions & { fault?: RequestFault | undefined } = {},
  ) {
    super(message, options);
    this.code = code;
    if (fault) this.fault = fault;
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

const UNREADABLE: ReadonlySet<ErrorCode> = new Set(["CHECKPOINT_INVALID", "CANNOT_READ"]);

/**
 * Reads a checkpoint to resume from.
 * @throws KitError `RESUME_INVALID` if it is damaged, so that Kit tries an older one
 */
export function readToResume<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!isKitError(error) || !UNREADABLE.has(error.code)) throw error;
    throw new KitError("RESUME_INVALID", error.message, { cause: error });
  }
}

const OUT_OF_REACH: ReadonlySet<ErrorCode> = new Set([
  "CLUSTER_UNREACHABLE",
  "CLUSTER_REFUSED",
  "CANNOT_FOLLOW",
]);

/** Whether a remote training may still go on although this process can no longer follow it. */
export function isOutOfReach(error: unknown): boolean {
  return isKitError(error) && OUT_OF_REACH.has(error.code);
}

/** @param cause a problem of this machine alone, which must not end a remote training */
export function cannotFollow(cause: unknown): KitError {
  return new KitError("CANNOT_FOLLOW", messageOf(cause), { cause });
}
