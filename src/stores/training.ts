import { defineStore } from "pinia";
import { computed, ref, shallowRef } from "vue";
import { RequestError, sentence } from "../api/request.ts";
import { type RunOutput, attachToRun, startRun } from "../api/train.ts";
import { useManifest } from "./manifest.ts";
import { NO_OUTPUT } from "../terminal/output.ts";
import { createTranscript } from "../terminal/transcript.ts";

const REATTACH_INTERVAL_MS = 3_000;
/** The HTTP status where too many are reading already; some will end. */
const TOO_MANY = 429;

/** The run that this page started or found in flight. */
export const useTraining = defineStore("training", () => {
  const project = useManifest();
  const inFlight = ref(false);
  /** Whether the latest run was seen to its end. */
  const hasEnded = ref(false);
  const output = shallowRef(NO_OUTPUT);
  /** What went wrong between the page and the run. */
  const notice = ref("");
  /** False until the first answer about a run in flight, so that no click comes too early. */
  const checked = ref(false);
  const canStart = computed(
    () => project.manifest.state === "found" && checked.value && !inFlight.value,
  );
  const transcript = createTranscript((read) => (output.value = read));

  async function start(): Promise<void> {
    if (!canStart.value) return;
    inFlight.value = true;
    notice.value = "";
    try {
      await follow(await startRun());
    } catch (cause) {
      const refusal = sentence(cause);
      notice.value = refusal;
      // What stands in the way may be a run of another tab: it is shown here as well.
      const other = await findRun();
      if (other) await follow(other);
      // It has ended.
      if (other && notice.value === refusal) notice.value = "";
    } finally {
      inFlight.value = false;
    }
  }

  /** Shows a run in flight, if there is one. */
  async function attach(): Promise<void> {
    if (inFlight.value) return;
    const found = await findRun();
    checked.value = true;
    if (!found) return;
    if (inFlight.value) return found.bytes.cancel();
    inFlight.value = true;
    try {
      await follow(found);
    } finally {
      inFlight.value = false;
    }
  }

  /** Null when there is no run, or no saying; then the manifest or the next click says why. */
  function findRun(): Promise<RunOutput | null> {
    return attachToRun().catch(() => null);
  }

  /** Shows a run's output to its end, through lost connections and while the tab is hidden. */
  async function follow(first: RunOutput): Promise<void> {
    let found: RunOutput | null = first;
    hasEnded.value = false;
    while (found) {
      const end = await transcript.read(found);
      hasEnded.value = end === "ended";
      if (hasEnded.value) return;
      found = await reattach(end === "lost");
      notice.value = found
        ? ""
        : "The connection was lost before the run ended. Its whole output is in .kit/run/output.log.";
    }
  }

  async function reattach(isLost: boolean): Promise<RunOutput | null> {
    for (;;) {
      if (isLost) {
        notice.value = "The connection was lost. The run goes on; trying to reach it again…";
        await new Promise((resolve) => setTimeout(resolve, REATTACH_INTERVAL_MS));
      }
      try {
        return await attachToRun(transcript.bookmark());
      } catch (error) {
        const status = (error instanceof RequestError && error.status) || 500;
        if (status < 500 && status !== TOO_MANY) return null;
        isLost = true;
      }
    }
  }

  return { inFlight, hasEnded, output, notice, canStart, attach, start };
});
