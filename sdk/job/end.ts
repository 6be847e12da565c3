import { lostContact } from "../../jobs/remote/lostContact.ts";
import type { RemoteLocation } from "../../protocol/engine.ts";
import { endedTooEarly } from "../../protocol/entry.ts";
import { isOutOfReach } from "../../protocol/error.ts";
import type { Job } from "../../protocol/job.ts";
import { type Artifact, listArtifacts } from "../models/artifact.ts";
import { asError, orAborted } from "../projectCode.ts";
import { callFinal } from "./callbackQueue.ts";
import type { JobEvaluation } from "./jobEvaluation.ts";
import { type Run, jobWithStatus } from "./run.ts";
import { asFollowError } from "./train.ts";

/** How a job ended or was detached. `error`: it failed, or contact was lost. */
export interface JobResult {
  job: Job;
  artifacts: Artifact[];
  error?: Error;
}

/** Limit of a logged message, so that its record fits one write. */
const MAX_ERROR = 8_000;

/** Completes a trained job once its callbacks are done. */
export async function complete(
  run: Run,
  evaluation: JobEvaluation,
  isStopped: boolean,
): Promise<JobResult> {
  const { progress, calls, callbacks, signal, detachSignal, location, record, observer } = run;
  const { saved } = progress;
  const job = jobWithStatus(run, "completed");
  const divergence = progress.divergence();
  if (!divergence) {
    calls.add("onCompleted", () => callbacks.onCompleted?.({ job, artifacts: saved.result() }));
  }
  await orAborted(calls.drain(), AbortSignal.any([signal, ...(location ? [detachSignal] : [])]));
  if (divergence) throw divergence;
  const artifacts = saved.result();
  const cost = evaluation.costNote();
  if (cost !== undefined) observer.onNote(cost);
  const stoppedAt = isStopped ? progress.stoppedAt() : undefined;
  record({ event: "training.completed", data: { ...listArtifacts(artifacts), stoppedAt } });
  saved.dropResumeFiles();
  return { job, artifacts };
}

/** Ends a cancelled or failed job, or detaches from a remote one. Never rejects. */
export async function endEarly(run: Run, error: unknown): Promise<JobResult> {
  const { calls, signal, detachSignal, location } = run;
  calls.stop();
  const thrown = asFollowError(run, error);
  const isDetached =
    (detachSignal.aborted && thrown === detachSignal.reason) || isOutOfReach(thrown);
  // If the remote cancellation failed, the job still runs.
  const endsHere = signal.aborted && !(isCancelled(run) && isOutOfReach(thrown));
  if (location && isDetached && !endsHere) return detach(run, location, thrown);
  if (!isCancelled(run)) return fail(run, asError(signal.aborted ? signal.reason : thrown));
  return endCancelled(run).catch((failure: unknown) => fail(run, asError(failure)));
}

/** Records the job's end when the project's code ends the process. */
export function endWithProcess(run: Run, code: number): void {
  const { hasEnded, location, record, progress } = run;
  // A remote job keeps running.
  if (hasEnded || location) return;
  const error = endedTooEarly("job", code);
  try {
    if (isCancelled(run)) record({ event: "training.cancelled", data: { step: progress.step() } });
    else record({ event: "training.failed", data: { error } });
  } catch {
    // Readers see that the owner is gone.
  }
}

function isCancelled({ cancel, signal }: Run): boolean {
  return cancel.aborted && signal.reason === cancel.reason;
}

/** Detaches from a remote job, which continues. */
function detach(run: Run, location: RemoteLocation, thrown: unknown): JobResult {
  const { owned, progress, observer } = run;
  const detached = { job: jobWithStatus(run, "running"), artifacts: progress.saved.result() };
  if (owned.taken.aborted) return { ...detached, error: asError(owned.taken.reason) };
  if (isOutOfReach(thrown)) return { ...detached, error: lostContact(owned.job, location, thrown) };
  observer.onDetached(location);
  return detached;
}

async function endCancelled(run: Run): Promise<JobResult> {
  const { progress, callbacks, record, callbackLimitMs } = run;
  record({ event: "training.cancelled", data: { step: progress.step() } });
  const job = jobWithStatus(run, "cancelled");
  await callFinal("onCancelled", () => callbacks.onCancelled?.({ job }), callbackLimitMs);
  return { job, artifacts: progress.saved.result() };
}

async function fail(run: Run, error: Error): Promise<JobResult> {
  const { progress, callbacks, record, callbackLimitMs } = run;
  const message = error.message || `${error.name} without a message`;
  try {
    record({ event: "training.failed", data: { error: message.slice(0, MAX_ERROR) } });
  } catch {
    // The log cannot be written any more; wait() still rejects with the error.
    run.hasEnded = true;
  }
  const job = jobWithStatus(run, "failed");
  await callFinal("onFailed", () => callbacks.onFailed?.({ job, error }), callbackLimitMs);
  return { job, artifacts: progress.saved.result(), error };
}
