import { defineStore, getActivePinia } from "pinia";
import { computed, onScopeDispose, ref, shallowRef } from "vue";
import { type JobStatus, isFinal } from "../../protocol/job.ts";
import { fetchJob } from "../api/jobs.ts";
import { openJobStream } from "../api/jobStream.ts";
import { createRepaint } from "../browser/repaint.ts";
import { activityOf, adviceOn, factsOf } from "../job/facts.ts";
import { type StreamEvent, EMPTY_JOB_VIEW, advance } from "../job/jobView.ts";
import { useJobs } from "./jobs.ts";
import { POLL_INTERVAL_MS, usePolled } from "./polled.ts";

/** Elapsed time advances between events, which may be half a minute apart during an evaluation. */
const TICK_MS = 1_000;

/** `paused`: a hidden tab closes its connection, because a browser allows few of them. */
export type Connection = "connecting" | "open" | "reconnecting" | "paused" | "ended";

export type JobEvents = ReturnType<typeof useJobEvents>;

/** One job, followed through its stream from opening its page to leaving it. */
export function useJobEvents(id: string) {
  return defineStore(`jobEvents/${id}`, () => setup(id))();
}

/** Closes the stream and forgets the job, so that the next visit starts afresh. */
export function disposeJobEvents(store: JobEvents): void {
  store.$dispose();
  // Pinia would restore the next store of this name from this state.
  delete getActivePinia()?.state.value[store.$id];
}

function setup(id: string) {
  const polled = usePolled(() => fetchJob(id));
  // Until the first response, the jobs list may know it.
  const job = computed(() => polled.value.value ?? useJobs().find(id));
  const view = shallowRef(EMPTY_JOB_VIEW);
  const connection = ref<Connection>("connecting");
  /** The job's final status, requested after the stream has ended. */
  const outcome = ref<JobStatus>();
  const status = computed(() => {
    // While the stream is paused, only the job itself is up to date.
    const polledStatus = connection.value === "paused" ? job.value?.status : undefined;
    return outcome.value ?? polledStatus ?? view.value.status ?? job.value?.status;
  });
  const isMissing = ref(false);

  /** When the newest event arrived, and what time it is, both in ms by this page's clock. */
  const arrivedAt = ref(0);
  const now = ref(0);

  /** The log's size when the server last answered, and when it grew to that. */
  const logGrowth = computed(() => {
    const { size = NaN, quietMs = 0 } = polled.value.value?.log ?? {};
    return { size, at: performance.now() - quietMs };
  });
  /** When the newest event happened: a page that opens late gets old events. */
  const happenedAt = computed(() => {
    const { size, at } = logGrowth.value;
    return view.value.offset <= size ? Math.min(arrivedAt.value, at) : arrivedAt.value;
  });

  const pending: StreamEvent[] = [];
  const repaint = createRepaint(flush);
  let ticking: ReturnType<typeof setInterval> | undefined;
  let stream: { close: () => void } | undefined;
  let stopPolling: (() => void) | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let isDisposed = false;

  function flush(): void {
    repaint.cancel();
    if (!pending.length) return;
    const { at } = view.value.progress;
    view.value = advance(view.value, pending.splice(0));
    if (view.value.progress.at !== at) arrivedAt.value = now.value = performance.now();
  }

  function enqueue(streamEvent: StreamEvent): void {
    pending.push(streamEvent);
    repaint.request();
  }

  /** Requests the job, since the stream sends neither a cancellation nor that a job is unknown. */
  async function settle(): Promise<void> {
    await polled.refresh();
    if (isDisposed) return;
    flush();
    if (polled.error.value) {
      connection.value = "reconnecting";
      retry = setTimeout(() => void settle(), POLL_INTERVAL_MS);
    } else if (job.value && isFinal(job.value.status)) {
      outcome.value = job.value.status;
      connection.value = "ended";
    } else if (job.value) {
      // The stream was refused, as when too many are open, or ended early.
      connection.value = "reconnecting";
      retry = setTimeout(connect, POLL_INTERVAL_MS);
    } else if (connection.value !== "ended") {
      isMissing.value = true;
      connection.value = "ended";
    }
  }

  function connect(): void {
    const { offset } = view.value;
    connection.value = "connecting";
    stream = openJobStream(id, offset < 0 ? undefined : offset, {
      onOpen() {
        connection.value = "open";
        enqueue("owner back");
      },
      onFrame: enqueue,
      // The job's record has the time of its last report, which the page then shows.
      onOwnerDetached: () => void polled.refresh(),
      onOwnerReturned() {
        enqueue("owner back");
        // Only the job may know the status before the presumed failure.
        void polled.refresh();
      },
      onSilence() {
        enqueue("stream error");
        connect();
      },
      onError(isClosed) {
        enqueue("stream error");
        connection.value = "reconnecting";
        if (isClosed) void settle();
      },
      onEnd() {
        // Show the last events first, so that an ended log is complete.
        flush();
        connection.value = "ended";
        void settle();
      },
    });
  }

  function pause(): void {
    stream?.close();
    clearTimeout(retry);
    flush();
    connection.value = "paused";
    stopPolling = polled.poll();
  }

  function resume(): void {
    stopPolling?.();
    stopPolling = undefined;
    connect();
  }

  function onVisibility(): void {
    if (connection.value === "ended") return;
    if (document.hidden && !stopPolling) pause();
    if (!document.hidden && stopPolling) resume();
  }

  function tick(): void {
    if (connection.value === "open" && status.value === "running") now.value = performance.now();
  }

  /** By this machine's clock; NaN if unknown. */
  function ageMs(): number {
    return performance.timeOrigin + now.value - Date.parse(job.value?.createdAt ?? "");
  }

  function open(): void {
    if (stream || stopPolling) return;
    document.addEventListener("visibilitychange", onVisibility);
    now.value = performance.now();
    ticking = setInterval(tick, TICK_MS);
    if (document.hidden) return pause();
    void polled.refresh();
    connect();
  }

  onScopeDispose(() => {
    isDisposed = true;
    document.removeEventListener("visibilitychange", onVisibility);
    stopPolling?.();
    stream?.close();
    repaint.cancel();
    clearTimeout(retry);
    clearInterval(ticking);
  });

  return {
    job,
    status,
    lastHeardAt: computed(() => (status.value === "running" ? job.value?.lastHeardAt : undefined)),
    connection,
    isMissing,
    lines: computed(() => view.value.lines),
    points: computed(() => view.value.points),
    hasLog: computed(() => view.value.hasLog),
    artifacts: computed(() => view.value.progress.artifacts),
    facts: computed(() => factsOf(view.value.progress, status.value, now.value - happenedAt.value)),
    activity: computed(() =>
      activityOf(view.value.progress, status.value, ageMs(), now.value - happenedAt.value),
    ),
    resumed: computed(() => view.value.progress.resumed),
    advice: computed(() =>
      status.value === "completed" ? adviceOn(view.value.progress.lossEnds) : "",
    ),
    error: computed(() => (status.value === "failed" ? view.value.error : "")),
    open,
  };
}
