import { KitError } from "../protocol/error.ts";

export type EngineErrorCode =
  | "MODEL_UNKNOWN"
  | "MODEL_INVALID"
  | "CONFIG_INVALID"
  | "DATASET_UNREADABLE"
  | "DATASET_INVALID"
  | "CHECKPOINT_INVALID"
  | "CHECKPOINT_UNWRITABLE"
  | "REQUEST_INVALID"
  | "OUT_OF_MEMORY"
  | "DIVERGED"
  | "WORKER_FAILED"
  | "KIT_BUNDLED";

/** Kit's error with the codes that an engine uses. */
export class EngineError extends KitError {
  declare readonly code: EngineErrorCode;

  constructor(code: EngineErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
  }
}
