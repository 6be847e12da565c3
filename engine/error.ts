export type EngineErrorCode =
  | "MODEL_UNKNOWN"
  | "MODEL_INVALID"
  | "CONFIG_INVALID"
  | "DATASET_UNREADABLE"
  | "DATASET_INVALID"
  | "CHECKPOINT_INVALID"
  | "REQUEST_INVALID"
  | "OUT_OF_MEMORY"
  | "WORKER_FAILED";

/** What went wrong, in one sentence that says what to do; `code` is stable across versions. */
export class EngineError extends Error {
  override readonly name = "EngineError";
  readonly code: EngineErrorCode;

  constructor(code: EngineErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
