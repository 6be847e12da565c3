/** Every code that a `KitError` can have, each in `docs/errors.md`. Stable: programs depend on them. */
export type ErrorCode =
  // A command and its project
  | "PROJECT_NOT_FOUND"
  | "ENTRY_NOT_FOUND"
  | "NAME_INVALID"
  | "PACKAGE_JSON_INVALID"
  | "BUILD_FAILED"
  | "IMPORT_FAILED"
  | "IMPORT_STUCK"
  | "WRONG_KIT"
  | "KIT_VERSION"
  | "NO_TRAINER"
  | "JOB_NOT_FOUND"
  | "CANNOT_ATTACH"
  | "CANNOT_DETACH"
  | "CANNOT_FOLLOW"
  | "JOB_ENDED"
  | "JOB_TAKEN"
  | "USAGE_INVALID"
  // Options and arguments
  | "OPTION_INVALID"
  | "CONFIG_INVALID"
  | "MODEL_UNKNOWN"
  | "MODEL_INVALID"
  | "REQUEST_INVALID"
  // A model of the hub
  | "HUB_INVALID"
  | "HUB_REFUSED"
  | "HUB_UNREACHABLE"
  | "MODEL_REFUSED"
  // Datasets and training
  | "DATASET_UNREADABLE"
  | "DATASET_INVALID"
  | "CANNOT_RESUME"
  | "CALLBACK_STUCK"
  | "CANCELLED"
  | "DIVERGED"
  | "OUT_OF_MEMORY"
  | "WORKER_FAILED"
  | "METRIC_FAILED"
  | "ENGINE_REPORT_INVALID"
  | "KIT_BUNDLED"
  | "MACHINE_UNFIT"
  | "PYTHON_NOT_FOUND"
  | "PYTHON_UNFIT"
  | "CLUSTER_UNREACHABLE"
  | "CLUSTER_REFUSED"
  | "CLUSTER_UNFIT"
  // Checkpoints
  | "CHECKPOINT_INVALID"
  | "RESUME_INVALID"
  | "CHECKPOINT_UNWRITABLE"
  // Files
  | "CANNOT_READ"
  | "CANNOT_WRITE"
  | "LINK_IN_KIT"
  | "LOG_CLOSED"
  | "NO_FILE"
  // `kit ui` and `kit serve`
  | "CANNOT_LISTEN"
  | "CANNOT_START"
  | "CLOSED"
  | "HOST_INVALID"
  | "KEY_INVALID"
  | "TOKEN_INVALID"
  | "MANIFEST_FAILED"
  | "PAGE_NOT_BUILT"
  | "PORT_TAKEN"
  | "RUN_IN_FLIGHT";

/** The invalid part of a request. */
export interface RequestFault {
  /** The option of `infer`, such as `schema` or `tools[1].function.parameters`. */
  option: string;
  /** Whether the prompt exceeds the model's context. */
  isTooLong?: boolean;
}

/** An error that users can act on: the message says what to do, the code is for programs. */
export class KitError extends Error {
  /** Identifies errors of other copies of Kit. */
  override readonly name = "KitError";
  /** Stable, for programs; `docs/errors.md` has them all. */
  readonly code: ErrorCode;
  /** Set for an error about a request. */
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

/** Checks the name, because a project's own copy of Kit has its own class. */
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

/** Whether a remote run may continue although this process can't follow it. */
export function isOutOfReach(error: unknown): boolean {
  return isKitError(error) && OUT_OF_REACH.has(error.code);
}

/** @param cause a problem of this machine alone, which must not end a remote run */
export function cannotFollow(cause: unknown): KitError {
  return new KitError("CANNOT_FOLLOW", messageOf(cause), { cause });
}

/** @param attempt what failed, such as `write <path>` */
export function unwritableMessage(attempt: string, cause: unknown): string {
  return `Cannot ${attempt}: ${messageOf(cause)}. Make the folder writable, or free disk space.`;
}

/** @param attempt what failed, such as `write <path>` */
export function cannotWrite(attempt: string, cause: unknown): KitError {
  return new KitError("CANNOT_WRITE", unwritableMessage(attempt, cause), { cause });
}
