import { freemem, totalmem } from "node:os";

/** Bytes that this machine has, or this container. */
export function machineMemory(): number {
  // The limit of a container; far above the total without one.
  return Math.min(totalmem(), process.constrainedMemory() || Infinity);
}

/** Bytes that this process can still allocate before the system kills it. */
export function freeMemory(): number {
  const room = machineMemory() - process.memoryUsage.rss();
  // Elsewhere, freemem() omits memory that the system would free on demand.
  return process.platform === "linux" ? Math.min(room, freemem()) : room;
}
