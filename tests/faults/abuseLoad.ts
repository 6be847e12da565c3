import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import type { Memory, createMemoryProbe } from "./memoryProbe.ts";

/** Clients at once. */
const AT_ONCE = 48;
/** Heap after garbage collection; a leak of 1 kB a request passes it after 2,100 requests. */
const MOST_HEAP_GROWTH_MIB = 2;
/** The system gets memory back late. */
const MOST_GROWTH_MIB = 60;
const SETTLES = 20;

/** How many requests are done, and how they ended. */
interface Counts {
  requests: number;
  /** Answers by the first digit of their status. */
  byClass: Record<string, number>;
}

interface AbuseOptions<C extends Counts> {
  counts: C;
  /** Sends a few requests, and counts them. */
  visit: (counts: C) => Promise<void>;
  probe: ReturnType<typeof createMemoryProbe>;
  /** The process that is asked. */
  pid: number | undefined;
}

/** Many clients of a process, and what it holds after them. */
export function createAbuse<C extends Counts>({ counts, visit, probe, pid = 0 }: AbuseOptions<C>) {
  async function settle(): Promise<Memory> {
    // The server soon ends its work for clients that have left.
    await delay(500);
    return probe.measure(pid);
  }
  return {
    /** Visits until so many requests are done. */
    async until(requests: number): Promise<void> {
      const visitOn = async () => {
        while (counts.requests < requests) await visit(counts);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, visitOn));
    },
    settle,
    /** As `settle`. On a busy machine the last sockets close late; a leak stays. */
    async settleTo(before: Memory): Promise<Memory> {
      let after = await settle();
      for (let n = 0; n < SETTLES && after.descriptors > before.descriptors; n++)
        after = await settle();
      return after;
    },
  };
}

/** As `3 2xx, 1 4xx`. */
export function classesOf({ byClass }: Counts): string {
  const classes = Object.entries(byClass).sort();
  return classes.map(([name, count]) => `${count} ${name}`).join(", ");
}

export function growthInWords(before: Memory, after: Memory): string {
  const of = (name: keyof Memory) => `${Math.round(before[name])} to ${Math.round(after[name])}`;
  return `heap ${of("heap")} MiB, RSS ${of("rss")} MiB, descriptors ${of("descriptors")}`;
}

export function expectNoLeak(before: Memory, after: Memory): void {
  expect(after.heap - before.heap).toBeLessThan(MOST_HEAP_GROWTH_MIB);
  expect(after.rss - before.rss).toBeLessThan(MOST_GROWTH_MIB);
  expect(after.descriptors).toBeLessThanOrEqual(before.descriptors);
}
