import { defineStore } from "pinia";
import { computed, ref, shallowRef } from "vue";
import type { RunEnd } from "../../protocol/http.ts";
import { RequestError, sentence } from "../api/request.ts";
import { type RunOutput, attachToRun, startRun } from "../api/train.ts";
import { useManifest } from "./manifest.ts";
import { NO_OUTPUT } from "../terminal/output.ts";
import { createTranscript } from "../terminal/transcript.ts";

const REATTACH_INTERVAL_MS = 3_000;
/** The HTTP status where too many are reading already; some will end. */
const TOO_MANY = 429;

const LOST = "The connection to the run was lost. Its whole output is in .kit/run/output.log.";

/** The project's last run, as far as this page has started or found it. */
export const useTraining = defineStore("training", () => {
  const project = useManifest();
  const inFlight = ref(false);
  /** Whether the run that is shown has ended, and how if the server says so. */
  const hasEnded = ref(false);
  const end = ref<RunEnd>();
  const output = shallowRef(NO_OUTPUT);
  /** What went wrong between the page and the run. */
  const notice = ref("");
  /** False until the last run is known and shown, so that no click comes too early. */
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
      if (!other || other.end) return void other?.bytes.cancel();
      await follow(other);
      // It has ended.
      if (notice.value === refusal) notice.value = "";
    } finally {
      inFlight.value = false;
    }
  }

  /** Shows the run in flight, or else the last one. */
  async function attach(): Promise<void> {
    if (inFlight.value) return;
    const found = await findRun();
    const isShown = hasEnded.value && found?.end && found.run === transcript.bookmark().run;
    if (!found || isShown || inFlight.value) {
      checked.value = true;
      return found?.bytes.cancel();
    }
    checked.value = !found.end;
    inFlight.value = !found.end;
    try {
      await follow(found);
    } finally {
      inFlight.value = false;
      checked.value = true;
    }
  }

  /** Null when there was no run, or no saying; then the manifest or the next click says why. */
  function findRun(): Promise<RunOutput | null> {
    return attachToRun(transcript.bookmark()).catch(() => null);
  }

  /** Shows a run's output to its end, through lost connections and while the tab is hidden. */
  async function follow(first: RunOutput): Promise<void> {
    let found: RunOutput | null = first;
    hasEnded.value = false;
    while (found) {
      const reading = await transcript.read(found);
      if (reading === "hidden" || (reading === "lost" && !found.end)) {
        found = await reattach(reading === "lost");
        notice.value = found ? "" : LOST;
        continue;
      }
      // An answer that began while the run was in flight cannot say how it ended: the next one does.
      const next: RunOutput | null = found.run && !found.end ? await findRun() : null;
      if (!next) {
        hasEnded.value = true;
        end.value = found.end;
        if (reading === "lost") notice.value = LOST;
      }
      found = next;
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

  return { inFlight, hasEnded, end, output, notice, canStart, attach, start };
});
