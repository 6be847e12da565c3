/** An error that somebody can act on: one sentence that says what to do, and a code for programs. */
export class KitError extends Error {
  override readonly name = "KitError";
  /** Stable, for programs: `PROJECT_NOT_FOUND`. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
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
