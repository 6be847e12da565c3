import { defineStore } from "pinia";
import { computed, ref, shallowRef } from "vue";
import { fetchManifest } from "../api/manifest.ts";
import { RequestError, sentence } from "../api/request.ts";
import { type Bookmark, type RunOutput, attachToRun, startRun } from "../api/train.ts";
import { createFrame } from "./frame.ts";
import { createOutput, NO_OUTPUT } from "./output.ts";

export type ManifestState =
  | { state: "loading" }
  | { state: "found"; name: string }
  | { state: "empty" }
  | { state: "failed"; error: string };

const REATTACH_INTERVAL_MS = 3_000;
/** Output is taken in for so long at a stretch, so many bytes at a time: all else goes on. */
const STRETCH_MS = 10;
const PART_BYTES = 64 * 1024;

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
  let screen = createOutput();
  let bookmark: Bookmark = { run: "", bytes: 0 };
  let decoder = createDecoder();
  const frame = createFrame(flush);

  function flush(): void {
    output.value = screen.view();
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
    while (found) {
      openAt(found);
      const end = await drain(found.bytes);
      if (end === "ended") return;
      if (end === "hidden") await shown();
      found = await reattach(end === "lost");
      notice.value = found
        ? ""
        : "The connection was lost before the run ended. Its whole output is in .kit/run/output.log.";
    }
  }

  /** Begins anew, unless this is the rest of what is shown. */
  function openAt({ run, from }: RunOutput): void {
    if (from > 0) return;
    bookmark = { run, bytes: 0 };
    decoder = createDecoder();
    screen = createOutput();
    output.value = NO_OUTPUT;
  }

  /**
   * Reads to the output's end, or until the connection breaks or the tab is hidden: it then gives
   * its connection back, of which a browser has few.
   */
  async function drain(bytes: ReadableStream<Uint8Array>): Promise<"ended" | "lost" | "hidden"> {
    const reader = bytes.getReader();
    let isHidden = false;
    const giveBack = () => {
      if (!document.hidden) return;
      isHidden = true;
      void reader.cancel().catch(() => undefined);
    };
    document.addEventListener("visibilitychange", giveBack);
    giveBack();
    const takeIn = createIntake();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (isHidden) return "hidden";
        if (value) await takeIn(value);
        if (!done) continue;
        // The end of the output is the end of its last character, whole or not.
        screen.write(decoder.decode());
        return "ended";
      }
    } catch {
      return isHidden ? "hidden" : "lost";
    } finally {
      document.removeEventListener("visibilitychange", giveBack);
      frame.cancel();
      flush();
    }
  }

  /** Writes bytes to the screen as they come, and lets the page do other things in between. */
  function createIntake(): (bytes: Uint8Array) => Promise<void> {
    let stretchEnd = performance.now() + STRETCH_MS;
    return async (bytes) => {
      for (let at = 0; at < bytes.length; at += PART_BYTES) {
        const part = bytes.subarray(at, at + PART_BYTES);
        screen.write(decoder.decode(part, { stream: true }));
        bookmark.bytes += part.length;
        frame.request();
        if (performance.now() < stretchEnd || document.hidden) continue;
        await new Promise((resolve) => setTimeout(resolve));
        stretchEnd = performance.now() + STRETCH_MS;
      }
    };
  }

  async function reattach(isLost: boolean): Promise<RunOutput | null> {
    for (;;) {
      if (isLost) {
        notice.value = "The connection was lost. The run goes on; trying to reach it again…";
        await new Promise((resolve) => setTimeout(resolve, REATTACH_INTERVAL_MS));
      }
      try {
        return await attachToRun(bookmark);
      } catch (error) {
        const status = (error instanceof RequestError && error.status) || 500;
        if (status < 500 && status !== TOO_MANY) return null;
        isLost = true;
      }
    }
  }

  return { manifest, inFlight, output, notice, canStart, open, start };
});

/** A byte order mark is output like any other. */
function createDecoder(): TextDecoder {
  return new TextDecoder("utf-8", { ignoreBOM: true });
}

/** The HTTP status where too many are reading already; some will end. */
const TOO_MANY = 429;

/** Resolves when the tab is visible. */
function shown(): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden) return;
      document.removeEventListener("visibilitychange", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    look();
  });
}
