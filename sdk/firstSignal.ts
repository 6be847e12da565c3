import { setMaxListeners } from "node:events";

/** A signal that aborts with the first of others. */
export interface FirstSignal {
  signal: AbortSignal;
  /** Takes it off the others, so that they don't hold it any longer. */
  release: () => void;
}

/** Like `AbortSignal.any()`, of which Node 22 keeps each as long as its sources (nodejs/node #54614). */
export function firstSignal(sources: readonly AbortSignal[]): FirstSignal {
  const controller = new AbortController();
  const abort = () => controller.abort(sources.find(({ aborted }) => aborted)?.reason);
  for (const source of sources) {
    // Node 20 warns of more than ten, and many requests may share a signal.
    setMaxListeners(0, source);
    source.addEventListener("abort", abort);
  }
  if (sources.some(({ aborted }) => aborted)) abort();
  return {
    signal: controller.signal,
    release: () => sources.forEach((source) => source.removeEventListener("abort", abort)),
  };
}
