import { join } from "node:path";
import type { LoadOptions } from "../../protocol/engine.ts";
import { readConfig } from "../modelFiles/configFile.ts";
import { CONFIG_FILE } from "../modelFiles/names.ts";
import { startChild, throwIfFailed } from "./child.ts";
import type { Python } from "./python.ts";

/**
 * A check that refuses a model which needs custom code, before its weights are downloaded. Only
 * transformers knows whether the code is needed, so Python decides.
 */
export function customCodeCheck(python: Python, { signal, onNote }: LoadOptions = {}) {
  return async (folder: string): Promise<void> => {
    if (!("auto_map" in readConfig(join(folder, CONFIG_FILE)))) return;
    const child = startChild("config", {
      interpreter: python.find(),
      env: python.env,
      job: { folder },
      onMessage(message) {
        if (message.type === "note") onNote?.(message.text);
      },
    });
    const stop = () => void child.stop();
    signal?.addEventListener("abort", stop, { once: true });
    try {
      const last = await child.ended;
      signal?.throwIfAborted();
      throwIfFailed(last);
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  };
}
