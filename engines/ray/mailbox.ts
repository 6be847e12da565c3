import { stringifyJson } from "../../protocol/json.ts";
import type { Remote } from "./remote.ts";

/** How long a job waits for a heartbeat of this process. */
export const IDLE_SECONDS = 300;

/** Heartbeats in that time. */
const BEATS = 5;

export interface Mailbox {
  /** Sends messages in order, each as its own request. */
  post: (message: object) => Promise<void>;
  close: () => void;
}

/** Reaches a job that runs, and tells it that this process is there, until it is closed. */
export function openMailbox(remote: Remote, id: string, idleSeconds: number): Mailbox {
  let sent = 0;
  let last = Promise.resolve();

  function post(message: object): Promise<void> {
    const name = String(++sent);
    const bytes = Buffer.from(stringifyJson(message) ?? "");
    const posted = last.then(() => remote.send(id, name, bytes));
    last = posted.catch(() => {});
    return posted;
  }

  // A lost heartbeat does no harm: others follow.
  const beat = () => void post({ type: "heartbeat" }).catch(() => {});
  const beats = setInterval(beat, (idleSeconds / BEATS) * 1000).unref();
  return { post, close: () => clearInterval(beats) };
}
