import { freemem, totalmem } from "node:os";

/** Bytes that this process can still allocate before the system kills it. */
export function freeMemory(): number {
  // The limit of a container; far above the total without one.
  const limit = Math.min(totalmem(), process.constrainedMemory() || Infinity);
  const room = limit - process.memoryUsage.rss();
  // Elsewhere, freemem() omits memory that the system would free on demand.
  return process.platform === "linux" ? Math.min(room, freemem()) : room;
}
