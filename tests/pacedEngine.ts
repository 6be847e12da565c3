import { setTimeout as delay } from "node:timers/promises";
import { prepare } from "../engines/embedded/prepare.ts";
import type { Engine } from "../protocol/engine.ts";

/** As fast as a reader can follow. */
const REPORT_MS = 100;

/**
 * An engine for runs that go on while something else is tested: it reports as a training does, until
 * it is stopped, and leaves the processor to what is tested.
 */
export function createPacedEngine(): Engine {
  return {
    name: "paced",
    prepare: (asked) => ({ ...prepare(asked), engine: { name: "paced" } }),
    check: () => Promise.reject(new Error("The paced engine checks nothing.")),
    load: () => Promise.reject(new Error("The paced engine saves nothing.")),
    async train({ config: { loggingSteps, maxSteps }, signal, onEvent }) {
      const started = { model: "paced", parameters: 1, rows: 1, maxSteps: maxSteps ?? 0 };
      onEvent({ event: "training.started", data: started });
      for (let log = -1; ; log++) {
        // The first two steps, and then each that is due.
        const step = log > 0 ? log * loggingSteps : log + 2;
        onEvent({
          event: "training.log",
          data: { step, loss: 1 + 1 / step, tokensPerSecond: 999 },
        });
        await delay(REPORT_MS);
        signal.throwIfAborted();
      }
    },
  };
}
