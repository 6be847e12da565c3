import { syncBuiltinESMExports } from "node:module";
import threads, { type Worker, type WorkerOptions } from "node:worker_threads";
import { onTestFinished, vi } from "vitest";

/** Sets `KIT_THREADS` until the test ends. */
export function useThreads(count: number | string): void {
  vi.stubEnv("KIT_THREADS", String(count));
  onTestFinished(() => void vi.unstubAllEnvs());
}

/** Not the import, which follows `threads.Worker` as it changes. */
const OriginalWorker = threads.Worker;

/**
 * Hands each helper thread that is started to `onStart`, or starts `instead` of it.
 * @param onStart may throw before its thread is used, as the system does that has none left
 * @param instead takes the address of the thread's file
 * @returns all threads, as they are started
 */
export function watchHelpers(
  onStart: (helper: Worker) => void,
  instead?: (file: string) => string,
): Worker[] {
  const all: Worker[] = [];
  class Watched extends OriginalWorker {
    constructor(file: string | URL, options?: WorkerOptions) {
      const isHelper = /(helper|decoder)Worker\.js$/.test(String(file));
      if (isHelper && instead) super(instead(String(file)), { eval: true });
      else super(file, options);
      all.push(this);
      if (isHelper) onStart(this);
    }
  }
  threads.Worker = Watched;
  syncBuiltinESMExports();
  onTestFinished(() => {
    threads.Worker = OriginalWorker;
    syncBuiltinESMExports();
  });
  return all;
}
