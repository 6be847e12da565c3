import { ApiError } from "./apiError.ts";
import type { ServedModel } from "./modelPool.ts";

/** When a client that found the queue full may retry, in seconds. */
const RETRY_AFTER_S = 1;

export interface Slots {
  /**
   * Acquires one of a model's slots, first come, first served.
   * @param signal stops waiting
   * @returns a function that releases it, to be called once
   * @throws ApiError 429 when the queue is full; the signal's reason
   */
  acquire: (model: ServedModel, signal: AbortSignal) => Promise<() => void>;
}

interface Queue {
  taken: number;
  /** Callbacks that start the waiting requests, in order. */
  waiting: Set<() => void>;
}

/** @param maxWaiting limit of queued requests, for all models together */
export function createSlots(maxWaiting: number): Slots {
  const queues = new Map<ServedModel, Queue>();
  let waiting = 0;

  function release(model: ServedModel, queue: Queue): void {
    queue.taken--;
    const [next] = queue.waiting;
    if (next) next();
    else if (queue.taken === 0) queues.delete(model);
  }

  return {
    acquire(model, signal) {
      const queue = queues.get(model) ?? { taken: 0, waiting: new Set() };
      queues.set(model, queue);
      const releaseOnce = () => release(model, queue);
      if (queue.taken < model.maxConcurrent) {
        queue.taken++;
        return Promise.resolve(releaseOnce);
      }
      if (waiting >= maxWaiting) return Promise.reject(tooMany(waiting));
      return new Promise((resolve, reject) => {
        waiting++;
        const leave = () => {
          waiting--;
          queue.waiting.delete(begin);
          signal.removeEventListener("abort", abort);
        };
        const begin = () => {
          leave();
          queue.taken++;
          resolve(releaseOnce);
        };
        const abort = () => {
          leave();
          reject(signal.reason as Error);
        };
        queue.waiting.add(begin);
        signal.addEventListener("abort", abort, { once: true });
        if (signal.aborted) abort();
      });
    },
  };
}

function tooMany(waiting: number): ApiError {
  const message = `The queue is full (${waiting} requests). Wait a second, then try again.`;
  return new ApiError(429, message, { retryAfterS: RETRY_AFTER_S });
}
