import { ref, shallowRef } from "vue";
import { sentence } from "../api/request.ts";

export const POLL_INTERVAL_MS = 5_000;

/** Polls a backend resource, one request at a time. */
export function usePolled<T>(fetchIt: () => Promise<T>) {
  /** The last good response; undefined before the first. */
  const value = shallowRef<T>();
  /** Why the latest read failed; empty if it succeeded. */
  const error = ref("");
  let reading = Promise.resolve();
  /** Number of requests in flight or queued. */
  let waiting = 0;

  async function read(): Promise<void> {
    try {
      value.value = await fetchIt();
      error.value = "";
    } catch (cause) {
      error.value = sentence(cause);
    }
  }

  /** Reads with a new request, after the one in flight if there is one. */
  function refresh(): Promise<void> {
    waiting++;
    reading = reading.then(read).finally(() => waiting--);
    return reading;
  }

  /** Reads, unless a request is in flight. */
  function refreshIfIdle(): void {
    if (!waiting) void refresh();
  }

  /** Reads now and every 5 seconds, until the returned stop. */
  function poll(): () => void {
    refreshIfIdle();
    const timer = setInterval(refreshIfIdle, POLL_INTERVAL_MS);
    return () => clearInterval(timer);
  }

  return { value, error, refresh, refreshIfIdle, poll };
}
