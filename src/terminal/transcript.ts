import { createSilenceTimer } from "../api/request.ts";
import type { Bookmark, RunOutput } from "../api/train.ts";
import { createRepaint } from "../browser/repaint.ts";
import { type Output, NO_OUTPUT, createOutput } from "./output.ts";

/** Processes output in chunks, and yields to the page after this long to keep it responsive. */
const SLICE_MS = 10;
const CHUNK_BYTES = 64 * 1024;

/**
 * `lost`: the connection broke. `hidden`: the tab was hidden and is visible again. `silent`: nothing came for
 * long, from a run that prints nothing or over a dead connection.
 */
export type ReadingEnd = "ended" | "lost" | "hidden" | "silent";

/**
 * A run's output as read by this page, over one or several connections.
 * @param show receives the output so far, once per repaint
 */
export function createTranscript(show: (output: Output) => void) {
  let screen = createOutput();
  let decoder = createDecoder();
  let bookmark: Bookmark = { run: "", bytes: 0 };
  const repaint = createRepaint(flush);

  function flush(): void {
    repaint.cancel();
    show(screen.view());
  }

  /**
   * Reads until the output ends or falls silent, the connection breaks or the tab is hidden. A hidden tab
   * closes its connection, because a browser allows few of them.
   */
  async function read({ run, from, bytes }: RunOutput): Promise<ReadingEnd> {
    if (from === 0) begin(run);
    const reader = bytes.getReader();
    let closedBy: "hidden" | "silent" | undefined;
    const close = (reason: typeof closedBy) => {
      closedBy ??= reason;
      void reader.cancel().catch(() => undefined);
    };
    const closeIfHidden = () => {
      if (document.hidden) close("hidden");
    };
    const silence = createSilenceTimer(() => close("silent"));
    document.addEventListener("visibilitychange", closeIfHidden);
    closeIfHidden();
    const isWhole = await drain(reader, silence.restart);
    silence.stop();
    document.removeEventListener("visibilitychange", closeIfHidden);
    // Flush an incomplete last character.
    if (isWhole && !closedBy) screen.write(decoder.decode());
    flush();
    if (!closedBy) return isWhole ? "ended" : "lost";
    if (closedBy === "hidden") await untilVisible();
    return closedBy;
  }

  /** Starts over: another run, or the same one from its first byte. */
  function begin(run: string): void {
    screen = createOutput();
    decoder = createDecoder();
    bookmark = { run, bytes: 0 };
    show(NO_OUTPUT);
  }

  /** @returns false if the connection broke before the end */
  async function drain(
    reader: ReadableStreamDefaultReader<Uint8Array>,
    onBytes: () => void,
  ): Promise<boolean> {
    const write = createWriter();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return true;
        onBytes();
        await write(value);
      }
    } catch {
      return false;
    }
  }

  /** Writes bytes to the screen, yielding to the page in between. */
  function createWriter(): (bytes: Uint8Array) => Promise<void> {
    let sliceEnd = performance.now() + SLICE_MS;
    return async (bytes) => {
      for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
        const chunk = bytes.subarray(at, at + CHUNK_BYTES);
        screen.write(decoder.decode(chunk, { stream: true }));
        bookmark.bytes += chunk.length;
        repaint.request();
        if (performance.now() < sliceEnd || document.hidden) continue;
        await new Promise((resolve) => setTimeout(resolve));
        sliceEnd = performance.now() + SLICE_MS;
      }
    };
  }

  return { read, bookmark: () => bookmark };
}

/** Keeps a byte order mark, which is output like any other. */
function createDecoder(): TextDecoder {
  return new TextDecoder("utf-8", { ignoreBOM: true });
}

/** Resolves once the tab is visible. */
function untilVisible(): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (document.hidden) return;
      document.removeEventListener("visibilitychange", check);
      resolve();
    };
    document.addEventListener("visibilitychange", check);
    check();
  });
}
