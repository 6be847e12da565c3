import { join } from "node:path";
import { isArtifactPath } from "../../protocol/artifactPath.ts";
import type { TrainOptions } from "../../protocol/engine.ts";
import { cannotFollow, isOutOfReach, messageOf } from "../../protocol/error.ts";
import { throwIfFailed } from "../python/child.ts";
import { describe, withAdvice } from "../python/train.ts";
import { downloadArtifact, isVisible } from "./downloadArtifact.ts";
import { follow } from "./follow.ts";
import { type JobLog, type RayMessage, clusterNote } from "./messages.ts";
import type { Remote } from "./rayJobs.ts";
import { writeStoredRecord } from "./storedRecord.ts";

type Options = Pick<
  TrainOptions,
  "config" | "directory" | "signal" | "detachSignal" | "onEvent" | "onNote"
>;

interface MonitorOptions extends JobLog {
  options: Options;
  /** Submits the job, and calls back with the session once it is sent. Omitted for a job that was submitted before. */
  submit?: (onSent: (session?: string) => void) => Promise<void>;
  /** The session that the job was submitted to, if known. */
  session?: string | undefined;
  /** Number of events that were already reported. */
  seen?: number;
}

/**
 * Reports a job until it ends. Stops it on failure, unless it is unreachable or was detached.
 * @throws KitError `CLUSTER_UNREACHABLE` or `CLUSTER_REFUSED` if the job may still run there, or couldn't be stopped;
 * `CANNOT_FOLLOW` if it may still run there
 */
export async function monitorJob(
  remote: Remote,
  { id, secret, options, submit, session, seen = 0 }: MonitorOptions,
): Promise<void> {
  const { signal, detachSignal } = options;
  const anyAbort = detachSignal ? AbortSignal.any([signal, detachSignal]) : signal;
  let replayed = seen;
  const submittedTo = { session };
  let isSent = submit === undefined;
  let isSubmitted = isSent;
  try {
    signal.throwIfAborted();
    await submit?.((session) => {
      isSent = true;
      submittedTo.session = session;
    });
    isSubmitted = true;
    const job = { id, secret };
    for await (const message of follow(remote, job, anyAbort, {
      submittedTo,
      onNote: options.onNote,
    })) {
      anyAbort.throwIfAborted();
      if (message.type === "failed") throwIfFailed(message);
      if (replayed === 0) {
        await handle(message, { remote, options, signal: anyAbort }).catch((error: unknown) => {
          anyAbort.throwIfAborted();
          throw cannotFollow(error);
        });
      } else if (message.type === "started" || message.type === "event") replayed--;
    }
    anyAbort.throwIfAborted();
  } catch (error) {
    const isDetached = isSubmitted && detachSignal?.aborted === true;
    if (signal.aborted) {
      if (isSent) await stop(remote, id, options);
      throw signal.reason;
    }
    if (isSent && !isDetached && !isOutOfReach(error))
      await stop(remote, id, options).catch(() => {});
    if (isDetached) detachSignal.throwIfAborted();
    throw error;
  }
}

/** @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED` if the job may still run there */
async function stop(remote: Remote, id: string, { onNote }: Options): Promise<void> {
  try {
    await remote.stop(id);
  } catch (error) {
    const why = messageOf(error);
    onNote?.(
      `warning: could not stop ${id} on ${remote.name}: ${why} Training may still be running there: run ray job stop ${id} to end it.`,
    );
    throw error;
  }
}

interface HandleOptions {
  remote: Remote;
  options: Options;
  signal: AbortSignal;
}

async function handle(
  message: RayMessage,
  { remote, options, signal }: HandleOptions,
): Promise<void> {
  const { directory, onEvent, onNote } = options;
  if (message.type === "note") onNote?.(clusterNote(message.text));
  else if (message.type === "hello") onNote?.(describe(message, `of ${remote.name}`));
  else if (message.type === "started") {
    const data = withAdvice(message.data, message.skipped, options);
    onEvent({ event: "training.started", data });
  } else if (message.type === "event") {
    const { event, stored } = message;
    // `onEvent` refuses an event whose path leads outside the artifacts.
    if (stored && event.event === "checkpoint.saved" && isArtifactPath(event.data.path)) {
      const artifact = join(directory, event.data.path);
      writeStoredRecord(artifact, { address: remote.address, ...stored });
      // A whole model may be large, so it is downloaded only on request.
      const isWanted = event.data.kind === "adapter" || isVisible(stored);
      // A problem with this machine's disk or connection must not end training on the cluster.
      const noteSkipped = (error: unknown) => {
        signal.throwIfAborted();
        onNote?.(`warning: ${event.data.path} stays on the cluster for now: ${messageOf(error)}`);
      };
      if (isWanted) await downloadArtifact(stored, artifact, { remote, signal }).catch(noteSkipped);
    }
    signal.throwIfAborted();
    onEvent(event);
  }
}
