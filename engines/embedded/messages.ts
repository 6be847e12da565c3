import type { MessagePort, Worker } from "node:worker_threads";
import { missingFile } from "../../disk/ownFile.ts";
import type { TrainOptions } from "../../protocol/engine.ts";
import {
  type ErrorCode,
  type RequestFault,
  KitError,
  isKitError,
  messageOf,
} from "../../protocol/error.ts";
import type { EngineEvent } from "../../protocol/event.ts";
import type { InferDelta, InferResult } from "../../protocol/infer.ts";
import type { TrainConfig } from "../../protocol/trainConfig.ts";
import type { TrainingCheck } from "../../protocol/trainingCheck.ts";
import type { LocatedModel } from "../families/modelSource.ts";

/** The input of a training thread. */
export interface TrainJob {
  config: TrainConfig;
  directory: string;
  source: LocatedModel;
  resumeFrom: string | undefined;
  /** Whether to only check the training run and measure losses. */
  isCheck?: boolean;
  /** Ports that deliver the helpers' initial data. */
  helpers: MessagePort[];
}

/** A message from the training thread; the last is `done` or `failed`. */
export type TrainMessage =
  | { type: "event"; event: EngineEvent }
  | { type: "note"; text: string }
  | { type: "done"; check?: TrainingCheck | undefined }
  | { type: "failed"; failure: Failure };

/** A message from the inference thread: an answer, deltas of answers, or a command for its helpers. */
export type InferMessage =
  | Answer
  | { deltas: { id: number; delta: InferDelta }[] }
  /** Starts a helper for each port, which delivers its initial data. */
  | { team: number; ports: MessagePort[] }
  /** Ends a team, then closes the port. */
  | { team: number; ended: MessagePort };

export type Answer =
  | { id: number; ok: true; result: InferResult | undefined }
  | { id: number; ok: false; failure: Failure };

/** An error sent between threads. */
export interface Failure {
  code: ErrorCode;
  message: string;
  fault?: RequestFault | undefined;
  /** Stack of an unexpected error. */
  stack?: string | undefined;
}

/** A thread's purpose, for an error's advice. */
type Purpose = "training" | "answers";

const OUT_OF_MEMORY: Record<Purpose, string> = {
  training: "The engine ran out of memory. Use a smaller batchSize, maxLength or model.",
  answers:
    'The engine ran out of memory. Use a smaller model, quantize: "q8_0" or shorter prompts, or raise a limit of the process (ulimit -v).',
};

export function toFailure(error: unknown, purpose: Purpose): Failure {
  if (isKitError(error)) {
    return { code: error.code, message: error.message, fault: error.fault };
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  const missing = missingModule(error);
  if (missing !== undefined) return toFailure(missingFile(missing), purpose);
  if (isOutOfMemory(error)) {
    return { code: "OUT_OF_MEMORY", message: OUT_OF_MEMORY[purpose], stack };
  }
  return {
    code: "WORKER_FAILED",
    message: `The engine failed: ${message}. Run again with DEBUG=kit to see where.`,
    stack,
  };
}

/** What a training or a check reports to, and what ends it. */
export type TrainListeners = Pick<TrainOptions, "onEvent" | "onNote"> & {
  signal?: AbortSignal | undefined;
};

/**
 * Passes on messages until the last one.
 * @param listen gets a function for messages, and one for an error of what sends them
 * @returns the result of a check
 */
export function outcomeOf(
  { signal, onEvent, onNote }: TrainListeners,
  listen: (onMessage: (message: TrainMessage) => void, fail: (error: Error) => void) => void,
): Promise<TrainingCheck | undefined> {
  return new Promise((resolve, reject) => {
    let settled = false;
    const settle = (end: () => void) => {
      if (settled) return;
      settled = true;
      signal?.removeEventListener("abort", onAbort);
      end();
    };
    const fail = (error: Error) => settle(() => reject(error));
    const onAbort = () => fail(signal?.reason as Error);
    if (signal?.aborted) return onAbort();
    signal?.addEventListener("abort", onAbort);
    listen((message) => {
      if (settled) return;
      if (message.type === "done") return settle(() => resolve(message.check));
      if (message.type === "failed") return fail(fromFailure(message.failure));
      try {
        if (message.type === "note") onNote?.(message.text);
        else onEvent(message.event);
      } catch (error) {
        fail(error instanceof Error ? error : new Error(String(error)));
      }
    }, fail);
  });
}

/**
 * @param advice what to do, besides raising the limit, if the system has no threads left
 * @throws KitError `KIT_BUNDLED`, `WORKER_FAILED`
 */
export function startThread(
  start: () => Worker,
  purpose: Purpose,
  advice = "End other programs",
): Worker {
  try {
    return start();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "ERR_WORKER_INIT_FAILED") throw fromFailure(toFailure(error, purpose));
    throw new KitError(
      "WORKER_FAILED",
      `The system refused to start a thread (${message}). ${advice}, or raise the limit (ulimit -u).`,
      { cause: error },
    );
  }
}

export function fromFailure({ code, message, fault, stack }: Failure): KitError {
  return new KitError(code, message, { fault, ...(stack !== undefined && { cause: stack }) });
}

export function threadEnded(code: number): KitError {
  return new KitError(
    "WORKER_FAILED",
    `The engine's thread exited unexpectedly (code ${code}). Try again.`,
  );
}

/** The error for a helper that exited. @param why what it threw, or its exit code as text */
export function helperFailed(why: unknown, purpose: Purpose): KitError {
  const failure = toFailure(why, purpose);
  if (failure.code !== "WORKER_FAILED") return fromFailure(failure);
  const verb = purpose === "training" ? "train" : "answer";
  return new KitError(
    "WORKER_FAILED",
    `A helper thread exited unexpectedly (${messageOf(why)}). Try again, or set KIT_THREADS=1 to ${verb} without helpers.`,
  );
}

/** The missing module, if a thread's file or one of its packages wasn't found. */
function missingModule(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code = "", input } = error as NodeJS.ErrnoException & { input?: string };
  // Code bundled as CommonJS has no URL.
  if (code === "ERR_INVALID_URL" && input?.endsWith("Worker.js")) return input;
  const isMissing = ["MODULE_NOT_FOUND", "ERR_MODULE_NOT_FOUND"].includes(code);
  // The first line, without the require stack.
  return isMissing ? error.message.split("\n", 1)[0] : undefined;
}

function isOutOfMemory(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as NodeJS.ErrnoException;
  return (
    code === "ERR_WORKER_OUT_OF_MEMORY" ||
    (error instanceof RangeError && /memory|allocation|array length/i.test(error.message))
  );
}
