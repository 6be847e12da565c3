import { freemem, totalmem } from "node:os";

/** Memory of this machine or container, in bytes. */
export function machineMemory(): number {
  // A container's limit; far above the total without one.
  return Math.min(totalmem(), process.constrainedMemory() || Infinity);
}

/** Bytes that this process can still allocate before the system kills it. */
export function freeMemory(): number {
  const remaining = machineMemory() - process.memoryUsage.rss();
  // On other systems, freemem() omits reclaimable memory.
  return process.platform === "linux" ? Math.min(remaining, freemem()) : remaining;
}
