import {
  type PageEventName,
  HEARTBEAT,
  END_OF_STREAM,
  OWNER_DETACHED,
  OWNER_RETURNED,
  PAGE_EVENTS,
  TIME,
} from "../../protocol/event.ts";
import { ROUTES } from "../../protocol/http.ts";
import { createSilenceTimer } from "./request.ts";

/** One frame of a job's event stream, as received. */
export interface StreamFrame {
  event: PageEventName;
  /** JSON, unless the record is damaged. */
  data: string;
  /** Byte offset after the record in the job's log. A frame without an id repeats the last one. */
  id: string;
  /** When the event happened, in ms since 1970; NaN if unknown. */
  at: number;
}

export interface JobStreamListener {
  onOpen: () => void;
  onFrame: (frame: StreamFrame) => void;
  /** No process follows the job any more; it continues remotely. */
  onOwnerDetached: () => void;
  /** The job's owner, presumed dead, reports again, or a process follows the job again. */
  onOwnerReturned: () => void;
  /** Nothing arrived before the timeout, so the connection was presumed dead and closed. */
  onSilence: () => void;
  /** @param isClosed whether the browser has given up; otherwise it reconnects by itself */
  onError: (isClosed: boolean) => void;
  /** The job is over and all its events have been sent. */
  onEnd: () => void;
}

/** Follows a job's events after the one with the id `from`, until `end` or until closed. */
export function openJobStream(
  id: string,
  from: number | undefined,
  listener: JobStreamListener,
): { close: () => void } {
  const source = new EventSource(ROUTES.jobEvents(id, from));
  const silence = createSilenceTimer(() => {
    close();
    listener.onSilence();
  });
  function close(): void {
    silence.stop();
    source.close();
  }
  function on(name: string, handle: (event: MessageEvent) => void): void {
    source.addEventListener(name, (event: MessageEvent) => {
      silence.restart();
      handle(event);
    });
  }
  let at = NaN;
  on(TIME, ({ data }) => (at = Date.parse(String(data).slice(1, -1))));
  for (const event of PAGE_EVENTS) {
    on(event, ({ data, lastEventId }) => {
      listener.onFrame({ event, data: String(data), id: lastEventId, at });
      at = NaN;
    });
  }
  on(END_OF_STREAM, () => {
    close();
    listener.onEnd();
  });
  on(HEARTBEAT, () => {});
  on(OWNER_DETACHED, listener.onOwnerDetached);
  on(OWNER_RETURNED, listener.onOwnerReturned);
  on("open", listener.onOpen);
  on("error", () => {
    const isClosed = source.readyState === EventSource.CLOSED;
    if (isClosed) silence.stop();
    listener.onError(isClosed);
  });
  return { close };
}
