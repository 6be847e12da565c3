import type { ErrorCode, RequestFault } from "../../protocol/error.ts";
import type { EngineEvent, EventData } from "../../protocol/event.ts";
import type { InferResult } from "../../protocol/infer.ts";
import type { TrainConfig } from "../../protocol/trainConfig.ts";
import type { TrainingCheck } from "../../protocol/trainingCheck.ts";
import constants from "../constants.json" with { type: "json" };
import type { ModelFolders } from "./model.ts";

/** The first line sent to a process that trains or checks. */
export interface PythonJob {
  config: TrainConfig;
  directory: string;
  /** The dataset's files: absolute paths of materialized files, and URLs. */
  files: string[];
  evalFiles: string[] | undefined;
  model: ModelFolders;
  /** The model's name in events. */
  modelName: string;
  isPretrained: boolean;
  /** The adapter's base on the hub, if it is there. */
  hub?: { repo: string; commit: string } | undefined;
  resumeFrom?: string | undefined;
  /** The date that chat templates write on every worker, by this machine's clock. */
  date: string;
  /** Whether a check measures losses. */
  measuresLoss?: boolean | undefined;
}

/** Rows kept, rows left out, tokens of the longest of these, and the model's context length. */
export interface SkippedRows {
  rows: number;
  leftOut: number;
  needed: number;
  context: number;
}

export interface Failure {
  code: ErrorCode;
  message: string;
  /** The part of a request at fault. */
  fault?: RequestFault;
}

/** Sent before importing torch, which takes seconds. */
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
  /** The text that the token completes; never splits a character. */
  text: string;
  logprob?: NonNullable<InferResult["logprobs"]>[number];
}

/** A reply to a request: a choice, the end of an answer, or a loaded model's properties. */
type Reply = ChosenAnswer | AnswerEnd | LoadedModel;

type ChosenAnswer = InferResult & Required<Pick<InferResult, "choices">>;

export interface LoadedModel {
  /** Sample calls as the chat template writes them; empty if it doesn't support calls. */
  calls: string[];
  /** Special tokens and their texts, as in `CallsTemplate`. */
  specials: (readonly [number, string])[];
}

/** The end of a streamed answer. */
interface AnswerEnd {
  promptTokens: number;
  finishReason: "stop" | "length";
}

/** A line from the process; `done`, `failed` or `cancelled` is the last. */
export type PythonMessage =
  | Hello
  | { type: "started"; data: EventData["training.started"]; skipped: SkippedRows }
  | { type: "event"; event: EngineEvent }
  | { type: "note"; text: string }
  | { type: "tokens"; id: number; promptTokens: number; tokens: AnswerToken[] }
  | { type: "answer"; id: number; result?: Reply; failure?: Failure }
  | { type: "done"; check?: TrainingCheck & { skipped: SkippedRows } }
  | ({ type: "failed" } & Failure)
  | { type: "cancelled" };

/** Parses a line; undefined for other output. */
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
