export type { Artifact, ArtifactFetchOptions } from "./models/artifact.ts";
export type {
  CheckpointContext,
  EvaluatedContext,
  Infer,
  LogContext,
  TrainerCallbacks,
} from "./callbacks.ts";
export { type Kit, createKit } from "./kit.ts";
export { type LoadModelOptions, loadModel } from "./models/load.ts";
export type { LoraOptions, TrainerOptions } from "./options.ts";
export { type Trainer, createTrainer } from "./trainer.ts";
export type {
  Engine,
  EngineModel,
  LoadOptions,
  LoadedModel,
  TrainOptions,
} from "../protocol/engine.ts";
export { KitError } from "../protocol/error.ts";
export type { ErrorCode } from "../protocol/error.ts";
export type { ChatMessage, TextPart, Tool, ToolCall } from "../protocol/chat.ts";
export type {
  AnswerSchema,
  AnswerStream,
  InferDelta,
  InferRequest,
  InferResult,
  JsonSchema,
  StandardSchema,
  TokenLogprob,
  ToolChoice,
} from "../protocol/infer.ts";
export type { ModelShape } from "../protocol/trainConfig.ts";
export type { Job, JobStatus } from "../protocol/job.ts";
export type { Answered, EvaluateOptions, Metric, Metrics, Score } from "../protocol/metric.ts";
