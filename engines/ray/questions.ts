import { KitError } from "../../protocol/error.ts";
import { type Answerer, type Listener, type Question, modelClosed } from "../answers/warmModels.ts";
import { throwIfFailed } from "../python/child.ts";
import { createOpenAnswers } from "../python/openAnswers.ts";
import type { HelperJob } from "./helperJob.ts";
import { type RayMessage, noteOfCluster } from "./messages.ts";
import type { Remote } from "./rayJobs.ts";

type OpenAnswers = ReturnType<typeof createOpenAnswers>;

/**
 * Hands questions to a job and takes the answers from its log, which is followed only while a question
 * is open.
 */
export function createQuestions(
  job: HelperJob,
  { name }: Remote,
  onNote: ((text: string) => void) | undefined,
) {
  let asker: Listener | undefined;
  let listening: AbortController | undefined;
  let after = { seq: 0, at: 0 };

  async function listen(answers: OpenAnswers, signal: AbortSignal): Promise<void> {
    try {
      for await (const message of job.follow(signal, after)) {
        signal.throwIfAborted();
        after = { seq: message.seq, at: performance.now() };
        take(message, answers);
      }
      throw unheard(name);
    } catch (error) {
      if (!signal.aborted) void close(error as Error);
    }
  }

  function take(message: RayMessage, { takeTokens, takeAnswer }: OpenAnswers) {
    if (message.type === "tokens") takeTokens(message);
    else if (message.type === "answer") takeAnswer(message);
    else if (message.type === "note") onNote?.(noteOfCluster(message.text));
    else if (message.type === "failed") throwIfFailed(message);
  }

  function connect(listener: Listener): Answerer<undefined> {
    asker = listener;
    const send = (question: object) =>
      void job
        .post(question)
        .catch((error) => refuse(question as Question<unknown>, error, listener));
    const answers = createOpenAnswers(send, listener);
    return {
      send: answers.ask,
      ref(isOn) {
        if (isOn === (listening !== undefined)) return;
        listening?.abort();
        listening = isOn ? new AbortController() : undefined;
        if (listening) void listen(answers, listening.signal);
      },
      stop: () => void close(),
    };
  }

  /** Stops the job, and rejects the questions that are open. */
  function close(reason: Error = modelClosed()): Promise<void> {
    listening?.abort();
    asker?.onEnd(reason);
    return job.stop();
  }

  return { connect, close };
}

/** Rejects the one question that did not arrive. */
function refuse({ type, id }: Question<unknown>, error: unknown, { onAnswer }: Listener) {
  // Nobody waits for an answer.
  if (type !== "cancel") onAnswer(id, error as Error);
}

function unheard(name: string): KitError {
  return new KitError(
    "WORKER_FAILED",
    `The inference job on ${name} has ended: it received no heartbeat from this process for several minutes, for example because this machine was asleep. Load the model again.`,
  );
}
