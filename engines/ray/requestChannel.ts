import { KitError } from "../../protocol/error.ts";
import {
  type ModelHost,
  type HostCallbacks,
  type HostRequest,
  modelClosed,
} from "../answers/modelHost.ts";
import { throwIfFailed } from "../python/child.ts";
import { createPendingRequests } from "../python/pendingRequests.ts";
import type { HelperJob } from "./helperJob.ts";
import { type RayMessage, clusterNote } from "./messages.ts";
import type { Remote } from "./rayJobs.ts";

type PendingRequests = ReturnType<typeof createPendingRequests>;

/** Sends requests to a job and reads the responses from its log, which it follows only while a request is open. */
export function createRequestChannel(
  job: HelperJob,
  { name }: Remote,
  onNote: ((text: string) => void) | undefined,
) {
  let callbacks: HostCallbacks | undefined;
  let listening: AbortController | undefined;
  let after = { seq: 0, at: 0 };

  async function listen(pending: PendingRequests, signal: AbortSignal): Promise<void> {
    try {
      for await (const message of job.follow(signal, after)) {
        signal.throwIfAborted();
        after = { seq: message.seq, at: performance.now() };
        handle(message, pending);
      }
      throw heartbeatLost(name);
    } catch (error) {
      if (!signal.aborted) void close(error as Error);
    }
  }

  function handle(message: RayMessage, { receiveTokens, receiveAnswer }: PendingRequests) {
    if (message.type === "tokens") receiveTokens(message);
    else if (message.type === "answer") receiveAnswer(message);
    else if (message.type === "note") onNote?.(clusterNote(message.text));
    else if (message.type === "failed") throwIfFailed(message);
  }

  function connect(newCallbacks: HostCallbacks): ModelHost<undefined> {
    callbacks = newCallbacks;
    const send = (message: object) =>
      void job
        .post(message)
        .catch((error) => rejectUnsent(message as HostRequest<unknown>, error, newCallbacks));
    const pending = createPendingRequests(send, newCallbacks);
    return {
      send: pending.submit,
      setRef(on) {
        if (on === (listening !== undefined)) return;
        listening?.abort();
        listening = on ? new AbortController() : undefined;
        if (listening) void listen(pending, listening.signal);
      },
      stop: () => void close(),
    };
  }

  /** Stops the job and rejects open requests. */
  function close(reason: Error = modelClosed()): Promise<void> {
    listening?.abort();
    callbacks?.onEnd(reason);
    return job.stop();
  }

  return { connect, close };
}

/** Rejects a request that could not be sent. */
function rejectUnsent(
  { type, id }: HostRequest<unknown>,
  error: unknown,
  { onReply }: HostCallbacks,
) {
  // Nobody waits for a response.
  if (type !== "cancel") onReply(id, error as Error);
}

function heartbeatLost(name: string): KitError {
  return new KitError(
    "WORKER_FAILED",
    `The inference job on ${name} has ended: it received no heartbeat from this process for several minutes, for example because this machine was asleep. Load the model again.`,
  );
}
