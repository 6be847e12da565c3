import { stringifyJson } from "../../protocol/json.ts";
import { type FollowOptions, follow } from "./follow.ts";
import type { Remote, Submission } from "./rayJobs.ts";

/** How long a job waits for a heartbeat from this process. */
const IDLE_SECONDS = 300;
/** Heartbeats in that time. */
const BEATS = 5;

export type HelperJob = ReturnType<typeof createHelperJob>;

/**
 * A job that receives messages while it runs, and ends by itself once this process is gone.
 * @param kind prefix of its id, after `kit-`
 */
export function createHelperJob(
  remote: Remote,
  kind: "infer" | "fetch",
  idleSeconds = IDLE_SECONDS,
) {
  const id = `kit-${kind}-${crypto.randomUUID()}`;
  const secret = crypto.randomUUID();
  let sent = 0;
  let lastPosted = Promise.resolve();
  let heartbeats: NodeJS.Timeout | undefined;
  let stopped: Promise<void> | undefined;

  /** Sends messages in order, each as its own request. */
  function post(message: object): Promise<void> {
    const name = String(++sent);
    const bytes = Buffer.from(stringifyJson(message) ?? "");
    const posted = lastPosted.then(() => remote.send(id, name, bytes));
    lastPosted = posted.catch(() => {});
    return posted;
  }

  // A lost heartbeat is harmless: others follow.
  const beat = () => void post({ type: "heartbeat" }).catch(() => {});

  function stop(): Promise<void> {
    clearInterval(heartbeats);
    // An unreachable job ends by itself.
    return (stopped ??= remote.stop(id).catch(() => {}));
  }

  return {
    id,
    idleSeconds,
    post,
    stop,
    async submit({ files, command, signal }: Pick<Submission, "files" | "command" | "signal">) {
      await remote.submit({ id, secret, files, command, ...(signal && { signal }) });
      if (!stopped) heartbeats = setInterval(beat, (idleSeconds / BEATS) * 1000).unref();
    },
    follow: (signal: AbortSignal, after?: FollowOptions["after"]) =>
      follow(remote, { id, secret }, signal, { ...(after && { after }) }),
  };
}
