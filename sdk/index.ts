export type { CheckpointContext, Infer, LogContext, TrainerCallbacks } from "./callbacks.ts";
export { type Kit, createKit } from "./kit.ts";
export { loadModel } from "./model.ts";
export type { LoraConfig, TrainerOptions } from "./options.ts";
export { type Trainer, createTrainer } from "./trainer.ts";
export type {
  ChatMessage,
  InferRequest,
  InferResult,
  LoadedModel,
  ModelShape,
} from "../protocol/engine.ts";
export type { Artifact } from "../protocol/event.ts";
export type { Job, JobStatus } from "../protocol/job.ts";
