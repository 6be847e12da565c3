import type { ErrorCode, RequestFault } from "../../protocol/error.ts";
import type { EngineEvent, EventData } from "../../protocol/event.ts";
import type { InferResult } from "../../protocol/infer.ts";
import type { TrainConfig } from "../../protocol/trainConfig.ts";
import type { TrainingCheck } from "../../protocol/trainingCheck.ts";
import constants from "../constants.json" with { type: "json" };
import type { ModelFolders } from "./model.ts";

/** The first line to a process that trains or checks. */
export interface PythonJob {
  config: TrainConfig;
  directory: string;
  /** The dataset's files: absolute paths of those that Kit has written, and URLs. */
  files: string[];
  evalFiles: string[] | undefined;
  model: ModelFolders;
  /** As events call it. */
  modelName: string;
  isPretrained: boolean;
  /** How an adapter names its base, if that is one of the hub. */
  hub?: { repo: string; commit: string } | undefined;
  resumeFrom?: string | undefined;
  /** The time, by this machine's clock, that chat templates write on every worker. */
  date: string;
  /** Whether a check measures losses. */
  measuresLoss?: boolean | undefined;
}

/** What the advice on left-out rows needs. */
export interface SkippedRows {
  rows: number;
  leftOut: number;
  needed: number;
  context: number;
}

export interface Failure {
  code: ErrorCode;
  message: string;
  /** Of a question. */
  fault?: RequestFault;
}

/** Before torch is imported, which takes seconds. */
export interface Hello {
  type: "hello";
  /** Python's version. */
  python: string;
  executable: string;
  packages: Record<string, string>;
  missing: string[];
}

/** A token of an answer. */
interface AnswerToken {
  /** The text that it completes; no character is split. */
  text: string;
  logprob?: NonNullable<InferResult["logprobs"]>[number];
}

/** Choices, the end of an answer, or what a model reports once it is loaded. */
type Answered = ChosenAnswer | AnswerEnd | LoadedModel;

type ChosenAnswer = InferResult & Required<Pick<InferResult, "choices">>;

export interface LoadedModel {
  /** Each of the calls that the question shows, as the chat template writes them; empty if it does not. */
  calls: string[];
  /** As `CallsTemplate`. */
  specials: (readonly [number, string])[];
}

/** How an answer has ended whose tokens came before. */
interface AnswerEnd {
  promptTokens: number;
  finishReason: "stop" | "length";
}

/** A line from the process; `done`, `failed` and `cancelled` are its last. */
export type PythonMessage =
  | Hello
  | { type: "started"; data: EventData["training.started"]; kept: SkippedRows }
  | { type: "event"; event: EngineEvent }
  | { type: "note"; text: string }
  | { type: "tokens"; id: number; promptTokens: number; tokens: AnswerToken[] }
  | { type: "answer"; id: number; result?: Answered; failure?: Failure }
  | { type: "done"; check?: TrainingCheck & { kept: SkippedRows } }
  | ({ type: "failed" } & Failure)
  | { type: "cancelled" };

/** A line as a message of the engine; undefined for other output. */
export function parseMessage(line: string): PythonMessage | undefined {
  try {
    const message = JSON.parse(line) as { kit?: unknown };
    return message.kit === constants.messageVersion
      ? (message as unknown as PythonMessage)
      : undefined;
  } catch {
    // Not a message.
    return undefined;
  }
}
