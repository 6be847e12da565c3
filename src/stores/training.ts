import { defineStore } from "pinia";
import { computed, ref, shallowRef } from "vue";
import { type RunEnd, RUN_OUTPUT } from "../../protocol/http.ts";
import { RequestError, sentence } from "../api/request.ts";
import { type RunOutput, attachToRun, startRun } from "../api/train.ts";
import { NO_OUTPUT } from "../terminal/output.ts";
import { createTranscript } from "../terminal/transcript.ts";
import { useManifest } from "./manifest.ts";

const REATTACH_INTERVAL_MS = 3_000;
/** The HTTP status when too many clients read the output. Retrying helps: some will leave. */
const TOO_MANY_REQUESTS = 429;

const LOST = `Lost the connection to the run. Its whole output is in ${RUN_OUTPUT}.`;

/** The project's last run, started by this page or found by it. */
export const useTraining = defineStore("training", () => {
  const project = useManifest();
  const inFlight = ref(false);
  /** Whether the run shown has ended, and how, if the server knows. */
  const hasEnded = ref(false);
  const end = ref<RunEnd>();
  const startedAt = ref("");
  /** Why it failed, where the output does not say so. */
  const error = ref("");
  const output = shallowRef(NO_OUTPUT);
  /** The sentence about a problem between the page and the run. */
  const notice = ref("");
  /** Whether the last run is known and shown. Until then, a click would be too early. */
  const isChecked = ref(false);
  const canStart = computed(
    () => project.manifest.state === "found" && isChecked.value && !inFlight.value,
  );
  let attaching = Promise.resolve();
  const transcript = createTranscript((read) => (output.value = read));

  async function start(): Promise<void> {
    if (!canStart.value) return;
    inFlight.value = true;
    startedAt.value = new Date().toISOString();
    notice.value = "";
    try {
      await follow(await startRun());
    } catch (cause) {
      const refusal = sentence(cause);
      notice.value = refusal;
      // The server may have refused because of another tab's run. Show that one.
      const otherRun = await findRun();
      if (!otherRun || otherRun.end) return void otherRun?.bytes.cancel();
      await follow(otherRun);
      if (notice.value === refusal) notice.value = "";
    } finally {
      inFlight.value = false;
    }
  }

  /** Shows the run in flight, or else the last one. */
  async function attach(): Promise<void> {
    if (inFlight.value) return;
    // One after another: two would write into the same output.
    attaching = attaching.then(attachOnce);
    await attaching;
  }

  async function attachOnce(): Promise<void> {
    const current = await findRun();
    const isShown = hasEnded.value && current?.end && current.run === transcript.bookmark().run;
    if (!current || isShown || inFlight.value) {
      isChecked.value = true;
      return current?.bytes.cancel();
    }
    isChecked.value = !current.end;
    inFlight.value = !current.end;
    try {
      await follow(current);
    } finally {
      inFlight.value = false;
      isChecked.value = true;
    }
  }

  /** Undefined without a run, or on an error, which the manifest or the next click will show. */
  function findRun(): Promise<RunOutput | undefined> {
    return attachToRun(transcript.bookmark()).catch(() => undefined);
  }

  /** Shows a run's output to its end, across lost connections and hidden tabs. */
  async function follow(first: RunOutput): Promise<void> {
    let current: RunOutput | undefined = first;
    hasEnded.value = false;
    startedAt.value = first.startedAt;
    error.value = "";
    while (current) {
      const readingEnd = await transcript.read(current);
      const isClosed = readingEnd === "hidden" || readingEnd === "silent";
      if (isClosed || (readingEnd === "lost" && !current.end)) {
        current = await reattach(readingEnd === "lost");
        notice.value = current ? "" : LOST;
        continue;
      }
      // A response that began while the run was in flight can't say how it ended. The next one can.
      const next: RunOutput | undefined = current.run && !current.end ? await findRun() : undefined;
      if (!next) {
        hasEnded.value = true;
        end.value = current.end;
        error.value = current.error;
        if (readingEnd === "lost") notice.value = LOST;
      }
      current = next;
    }
  }

  async function reattach(isLost: boolean): Promise<RunOutput | undefined> {
    for (;;) {
      if (isLost) {
        notice.value = "Connection lost. The run continues. Reconnecting…";
        await new Promise((resolve) => setTimeout(resolve, REATTACH_INTERVAL_MS));
      }
      try {
        return await attachToRun(transcript.bookmark());
      } catch (error) {
        const status = (error instanceof RequestError && error.status) || 500;
        if (status < 500 && status !== TOO_MANY_REQUESTS) return undefined;
        isLost = true;
      }
    }
  }

  return { inFlight, startedAt, hasEnded, end, error, output, notice, canStart, attach, start };
});
