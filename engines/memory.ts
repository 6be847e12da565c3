import { freemem, totalmem } from "node:os";

/** Bytes that this process can still take before the system ends it. */
export function freeMemory(): number {
  // What a container may have; far more than there is where nothing limits it.
  const limit = Math.min(totalmem(), process.constrainedMemory() || Infinity);
  const room = limit - process.memoryUsage.rss();
  // Elsewhere it leaves out what the system would give back when asked.
  return process.platform === "linux" ? Math.min(room, freemem()) : room;
}
