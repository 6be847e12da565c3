import type { Engine, TrainOptions } from "../../protocol/engine.ts";
import { asEngineEvent } from "../../protocol/engineReport.ts";
import type { EngineEvent } from "../../protocol/event.ts";

export interface RunEngineOptions extends Pick<
  TrainOptions,
  "config" | "directory" | "resumeFrom" | "signal" | "leave" | "onNote" | "onRemote"
> {
  /** Whether the training was over before: the engine then only ends it. */
  isOver?: boolean;
  /** Aborting says that the training is over. */
  over?: AbortSignal | undefined;
  /** Takes each checked report. @returns whether the training is over with it */
  onEvent: (event: EngineEvent) => boolean;
  /** Takes what `onEvent` threw, or an invalid report; later ones are dropped. */
  onError: (error: unknown) => void;
}

/**
 * Trains until the engine is done, or `onEvent` says so.
 * @returns whether it was `onEvent`, so that the engine may have gone on meanwhile
 */
export async function runEngine(
  engine: Pick<Engine, "name" | "train">,
  { signal, isOver = false, over, onEvent, onError, ...options }: RunEngineOptions,
): Promise<boolean> {
  const stop = new AbortController();
  let isBroken = false;
  if (isOver) stop.abort();
  const end = () => stop.abort();
  over?.addEventListener("abort", end);
  function onReport(reported: unknown) {
    if (stop.signal.aborted || isBroken) return;
    try {
      if (onEvent(asEngineEvent(engine.name, reported))) stop.abort();
    } catch (error) {
      isBroken = true;
      onError(error);
    }
  }
  try {
    const stoppable = AbortSignal.any([signal, stop.signal]);
    await engine.train({ ...options, signal: stoppable, onEvent: onReport });
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    over?.removeEventListener("abort", end);
  }
  // The engine may resolve even though its reports were rejected.
  signal.throwIfAborted();
  return stop.signal.aborted;
}
