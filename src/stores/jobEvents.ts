import { defineStore, getActivePinia } from "pinia";
import { computed, onScopeDispose, ref, shallowRef } from "vue";
import { type JobStatus, isFinal } from "../../protocol/job.ts";
import { openJobStream } from "../api/jobStream.ts";
import { createFrame } from "../animationFrame.ts";
import { type StreamHappening, advance, NO_PROGRESS } from "../jobView.ts";
import { POLL_INTERVAL_MS, useJobs } from "./jobs.ts";

/**
 * `paused`: the tab is hidden and has given its connection back, of which a browser has few.
 */
export type Connection = "connecting" | "open" | "reconnecting" | "paused" | "ended";

export type JobEvents = ReturnType<typeof useJobEvents>;

/** One job, followed through its stream. Opened when its page is entered, disposed when left. */
export function useJobEvents(id: string) {
  return defineStore(`jobEvents/${id}`, () => setup(id))();
}

/** Closes the stream and forgets the job, so that the next visit starts from nothing. */
export function disposeJobEvents(store: JobEvents): void {
  store.$dispose();
  // Pinia would fill the next store of this name with what it finds here.
  delete getActivePinia()?.state.value[store.$id];
}

function setup(id: string) {
  const jobs = useJobs();
  const job = computed(() => jobs.find(id));
  const progress = shallowRef(NO_PROGRESS);
  const connection = ref<Connection>("connecting");
  /** What the list says once the stream has nothing more to tell. */
  const outcome = ref<JobStatus>();
  const status = computed(() => {
    // Nothing comes over a paused stream, but the list is still read.
    const listed = connection.value === "paused" ? job.value?.status : undefined;
    return outcome.value ?? listed ?? progress.value.status ?? job.value?.status;
  });
  /** The project has no such job. */
  const missing = ref(false);

  const pending: StreamHappening[] = [];
  const frame = createFrame(flush);
  let stream: { close: () => void } | undefined;
  let stopPolling: (() => void) | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let disposed = false;

  function flush(): void {
    frame.cancel();
    if (pending.length) progress.value = advance(progress.value, pending.splice(0));
  }

  function happen(happening: StreamHappening): void {
    pending.push(happening);
    frame.request();
  }

  /** The list knows what the stream does not send: that a job was cancelled, or never was. */
  async function settle(): Promise<void> {
    await jobs.refresh();
    if (disposed) return;
    flush();
    if (jobs.error) {
      connection.value = "reconnecting";
      retry = setTimeout(() => void settle(), POLL_INTERVAL_MS);
    } else if (job.value && isFinal(job.value.status)) {
      outcome.value = job.value.status;
      connection.value = "ended";
    } else if (job.value) {
      // Refused, as when too many streams are open, or ended by mistake: there is more to come.
      connection.value = "reconnecting";
      retry = setTimeout(connect, POLL_INTERVAL_MS);
    } else if (connection.value !== "ended") {
      missing.value = true;
      connection.value = "ended";
    }
  }

  function connect(): void {
    const { offset } = progress.value;
    connection.value = "connecting";
    stream = openJobStream(id, offset < 0 ? undefined : offset, {
      onOpen() {
        connection.value = "open";
        happen("owner back");
      },
      onFrame: happen,
      onOwnerBack() {
        happen("owner back");
        // What the job goes back to may be known from the list alone.
        void jobs.refresh();
      },
      onError(closed) {
        happen("stream error");
        connection.value = "reconnecting";
        if (closed) void settle();
      },
      onEnd() {
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
    stopPolling = jobs.poll();
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

  function open(): void {
    if (stream || stopPolling) return;
    document.addEventListener("visibilitychange", onVisibility);
    if (document.hidden) return pause();
    void jobs.refresh();
    connect();
  }

  onScopeDispose(() => {
    disposed = true;
    document.removeEventListener("visibilitychange", onVisibility);
    stopPolling?.();
    stream?.close();
    frame.cancel();
    clearTimeout(retry);
  });

  return {
    job,
    status,
    connection,
    missing,
    lines: computed(() => progress.value.lines),
    points: computed(() => progress.value.points),
    logged: computed(() => progress.value.logged),
    artifacts: computed(() => progress.value.artifacts),
    error: computed(() => (status.value === "failed" ? progress.value.error : "")),
    open,
  };
}
