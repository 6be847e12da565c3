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
  | "NO_TRAINER"
  | "JOB_NOT_FOUND"
  | "PROMPT_INVALID"
  // Options and arguments
  | "OPTION_INVALID"
  | "CONFIG_INVALID"
  | "MODEL_UNKNOWN"
  | "MODEL_INVALID"
  | "REQUEST_INVALID"
  // A model of the hub
  | "HUB_INVALID"
  | "HUB_UNREACHABLE"
  | "MODEL_REFUSED"
  // A dataset and a training
  | "DATASET_UNREADABLE"
  | "DATASET_INVALID"
  | "CALLBACK_STUCK"
  | "CANCELLED"
  | "DIVERGED"
  | "OUT_OF_MEMORY"
  | "WORKER_FAILED"
  | "ENGINE_REPORT_INVALID"
  | "KIT_BUNDLED"
  // Checkpoints
  | "CHECKPOINT_INVALID"
  | "CHECKPOINT_UNWRITABLE"
  // Files
  | "CANNOT_READ"
  | "CANNOT_WRITE"
  | "LINK_IN_KIT"
  | "LOG_CLOSED"
  | "NO_FILE"
  // `kit ui`
  | "CANNOT_LISTEN"
  | "CANNOT_START"
  | "CLOSED"
  | "HOST_INVALID"
  | "TOKEN_INVALID"
  | "MANIFEST_FAILED"
  | "PAGE_NOT_BUILT"
  | "PORT_TAKEN"
  | "RUN_IN_FLIGHT";
