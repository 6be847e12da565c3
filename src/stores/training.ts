import { defineStore } from "pinia";
import { computed, ref, shallowRef } from "vue";
import { fetchManifest } from "../api/manifest.ts";
import { RequestError, sentence } from "../api/request.ts";
import { attachToRun, startRun } from "../api/train.ts";
import { createFrame } from "./frame.ts";
import { append, NO_OUTPUT } from "./output.ts";

export type ManifestState =
  | { state: "loading" }
  | { state: "found"; name: string }
  | { state: "empty" }
  | { state: "failed"; error: string };

const REATTACH_INTERVAL_MS = 3_000;

/** The trainer of the project, and the run that this page started or found in flight. */
export const useTraining = defineStore("training", () => {
  const manifest = shallowRef<ManifestState>({ state: "loading" });
  const inFlight = ref(false);
  const output = shallowRef(NO_OUTPUT);
  /** What went wrong between the page and the run. */
  const notice = ref("");
  /** False until the first answer about a run in flight, so that no click comes too early. */
  const checked = ref(false);
  const canStart = computed(
    () => manifest.value.state === "found" && checked.value && !inFlight.value,
  );
  let manifestRead: Promise<void> | undefined;
  let pending = "";
  const frame = createFrame(flush);

  function flush(): void {
    output.value = append(output.value, pending);
    pending = "";
  }

  async function readManifest(): Promise<void> {
    try {
      const { trainer } = await fetchManifest();
      manifest.value = trainer ? { state: "found", name: trainer.name } : { state: "empty" };
    } catch (cause) {
      const unreachable = cause instanceof RequestError && cause.code === "unreachable";
      const error = sentence(cause) + (unreachable ? " Then reload the page." : "");
      manifest.value = { state: "failed", error };
    }
  }

  /** Reads the manifest once a load of the page, and looks for a run in flight. */
  async function open(): Promise<void> {
    manifestRead ??= readManifest();
    await Promise.all([manifestRead, attach()]);
  }

  async function start(): Promise<void> {
    if (!canStart.value) return;
    inFlight.value = true;
    notice.value = "";
    try {
      await follow(await startRun());
    } catch (cause) {
      notice.value = sentence(cause);
      // What stands in the way may be a run of another tab: it is shown here as well.
      const other = await findRun();
      if (other) await follow(other);
    } finally {
      inFlight.value = false;
    }
  }

  async function attach(): Promise<void> {
    if (inFlight.value) return;
    const stream = await findRun();
    checked.value = true;
    if (!stream) return;
    if (inFlight.value) return stream.cancel();
    inFlight.value = true;
    try {
      await follow(stream);
    } finally {
      inFlight.value = false;
    }
  }

  /** Null when there is no run, or no saying; then the manifest or the next click says why. */
  function findRun(): Promise<ReadableStream<string> | null> {
    return attachToRun().catch(() => null);
  }

  /** Shows a run's output to its end, through lost connections. */
  async function follow(first: ReadableStream<string>): Promise<void> {
    let stream: ReadableStream<string> | null = first;
    while (stream) {
      output.value = NO_OUTPUT;
      if (await drain(stream)) return;
      notice.value = "The connection was lost. The run goes on; trying to reach it again…";
      stream = await reattach();
      notice.value = stream
        ? ""
        : "The connection was lost before the run ended. Its whole output is in .kit/run/output.log.";
    }
  }

  /** False when the connection broke before the output's end. */
  async function drain(stream: ReadableStream<string>): Promise<boolean> {
    const reader = stream.getReader();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return true;
        pending += value;
        frame.request();
      }
    } catch {
      return false;
    } finally {
      frame.cancel();
      flush();
    }
  }

  async function reattach(): Promise<ReadableStream<string> | null> {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, REATTACH_INTERVAL_MS));
      try {
        return await attachToRun();
      } catch (error) {
        const refused = error instanceof RequestError && (error.status ?? 500) < 500;
        if (refused) return null;
      }
    }
  }

  return { manifest, inFlight, output, notice, canStart, open, start };
});
