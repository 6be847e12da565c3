import { orCannotFollow } from "../../jobs/remote/lostContact.ts";
import type { ResumePoint } from "../../jobs/resumePoint.ts";
import type { RemoteLocation } from "../../protocol/engine.ts";
import { KitError, isOutOfReach } from "../../protocol/error.ts";
import type { EngineEvent } from "../../protocol/event.ts";
import { asError } from "../projectCode.ts";
import { withRestoredLocations } from "./config.ts";
import { callbackOf } from "./eventCallbacks.ts";
import type { JobEvaluation } from "./jobEvaluation.ts";
import type { Run } from "./run.ts";
import { trainFrom } from "./runEngine.ts";

/**
 * Waits for the job's turn, then trains until the engine is done or an event ends training.
 * @returns whether an event ended it
 */
export async function train(run: Run, evaluation: JobEvaluation): Promise<boolean> {
  const { owned, signal, detachSignal, trainingEnded, recorded, progress, observer } = run;
  const { saved } = progress;
  if (recorded && progress.replay(recorded)) trainingEnded.abort();
  const { engine, config, points, restoreLocations = (text) => text } = await run.prepare(run);
  try {
    await evaluation.prepare(config, recorded?.from ?? points[0]);
    await trainFrom(points, engine, {
      config,
      directory: owned.directory,
      signal,
      detachSignal,
      trainingEnded,
      onEvent: (event, from = recorded?.from) => handle(run, evaluation, event, from),
      onError: (error) => abortRun(run, error),
      onRemote: (location, from) => recordRemote(run, location, from),
      onNote: (text) => observer.onNote(restoreLocations(text)),
    });
  } catch (error) {
    throw withRestoredLocations(error, restoreLocations);
  }
  const isStopped = trainingEnded.signal.aborted;
  if (isStopped) saved.removeUnknown();
  if (saved.result().length > 0) return isStopped;
  throw new KitError(
    "ENGINE_REPORT_INVALID",
    `The engine ${engine.name} ended without a checkpoint. Update Kit and the engine to compatible versions.`,
  );
}

/** @returns whether training is over */
function handle(
  run: Run,
  evaluation: JobEvaluation,
  reported: EngineEvent,
  from: ResumePoint | undefined,
): boolean {
  const { progress, record, calls } = run;
  const event = progress.begin(reported, from);
  // Log first, so that everything a callback sees is on disk.
  record(event);
  const isOver = progress.onEvent(event);
  if (event.event === "training.started") evaluation.onStarted();
  if (event.event === "checkpoint.saved") evaluation.onSaved(event.data);
  const { name, call } = callbackOf(event, run);
  calls.add(name, async () => {
    await call();
    if (event.event === "checkpoint.saved") progress.saved.release(event.data.step);
  });
  return isOver;
}

function abortRun(run: Run, error: unknown): void {
  const thrown = asFollowError(run, error);
  (isOutOfReach(thrown) ? run.unreachable : run.failure).abort(asError(thrown));
}

/** A remote job's error as its followers report it. */
export function asFollowError({ location, owned }: Run, error: unknown): unknown {
  return location ? orCannotFollow(error, owned.directory) : error;
}

function recordRemote(run: Run, location: RemoteLocation, from: ResumePoint | undefined): void {
  run.owned.recordRemote({
    ...location,
    ...(from && { resumed: { jobId: from.jobId, step: from.step } }),
  });
  run.location = location;
  run.observer.onRemote(location);
}
