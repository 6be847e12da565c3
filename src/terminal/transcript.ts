import type { Bookmark, RunOutput } from "../api/train.ts";
import { createFrame } from "../animationFrame.ts";
import { type Output, createOutput, NO_OUTPUT } from "./output.ts";

/** Output is taken in for so long at a stretch, so many bytes at a time: all else goes on. */
const STRETCH_MS = 10;
const PART_BYTES = 64 * 1024;

/** `lost`: the connection broke. `hidden`: the tab was hidden meanwhile; it is shown again. */
export type ReadingEnd = "ended" | "lost" | "hidden";

/**
 * What this page has read of a run's output, over one connection or several.
 * @param show takes it as it stands, once a frame
 */
export function createTranscript(show: (output: Output) => void) {
  let screen = createOutput();
  let decoder = createDecoder();
  let bookmark: Bookmark = { run: "", bytes: 0 };
  const frame = createFrame(flush);

  function flush(): void {
    frame.cancel();
    show(screen.view());
  }

  /**
   * Reads to the output's end, or until the connection breaks or the tab is hidden: it then gives
   * its connection back, of which a browser has few.
   */
  async function read({ run, from, bytes }: RunOutput): Promise<ReadingEnd> {
    if (from === 0) begin(run);
    const reader = bytes.getReader();
    let isHidden = false;
    const giveBack = () => {
      if (!document.hidden) return;
      isHidden = true;
      void reader.cancel().catch(() => undefined);
    };
    document.addEventListener("visibilitychange", giveBack);
    giveBack();
    const isWhole = await drain(reader);
    document.removeEventListener("visibilitychange", giveBack);
    // The end of the output is the end of its last character, whole or not.
    if (isWhole && !isHidden) screen.write(decoder.decode());
    flush();
    if (!isHidden) return isWhole ? "ended" : "lost";
    await shown();
    return "hidden";
  }

  /** Anew: these are not the rest of what is shown. */
  function begin(run: string): void {
    screen = createOutput();
    decoder = createDecoder();
    bookmark = { run, bytes: 0 };
    show(NO_OUTPUT);
  }

  /** @returns whether its end has come, and not the connection's alone */
  async function drain(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<boolean> {
    const takeIn = createIntake();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return true;
        await takeIn(value);
      }
    } catch {
      return false;
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

  return { read, bookmark: () => bookmark };
}

/** A byte order mark is output like any other. */
function createDecoder(): TextDecoder {
  return new TextDecoder("utf-8", { ignoreBOM: true });
}

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
