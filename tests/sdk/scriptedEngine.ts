import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Engine } from "kit";
import { withDefaults } from "../../engines/training/defaults.ts";
import type { DatasetConfig } from "../../protocol/dataset.ts";
import { KitError } from "../../protocol/error.ts";
import type { EventData } from "../../protocol/event.ts";

/** A file of a checkpoint that only a resume needs. */
export const STATE = "optimizer.bin";
/** A checkpoint with this file cannot be read. */
export const DAMAGED = "damaged";

/**
 * Takes no time for a step and learns nothing: its evalLosses are given, and its epochs have a step
 * each.
 */
export function createScriptedEngine({
  name = "scripted",
  evalLossAt = (step: number): number | undefined => 1 / step,
} = {}): Engine {
  return {
    name,
    resumeFiles: [STATE],
    prepare: (asked) => withDefaults(asked, { name }),
    check: () => Promise.reject(new Error("not scripted")),
    load: () => Promise.reject(new Error("not scripted")),
    async train({ config, directory, resumeFrom, signal, onEvent }) {
      if (resumeFrom !== undefined && existsSync(join(resumeFrom, DAMAGED))) {
        const message = `${resumeFrom}/weights is cut off. Use a checkpoint that Kit saved.`;
        throw new KitError("RESUME_INVALID", message);
      }
      const [, trained = "0"] = /step-(\d+)$/.exec(resumeFrom ?? "") ?? [];
      const maxSteps = config.maxSteps ?? config.numTrainEpochs ?? 0;
      const started: EventData["training.started"] = {
        ...{ model: "m", parameters: 1, rows: 1, maxSteps },
        fingerprint: textOf(config.dataset),
        ...(config.evalDataset && { evalFingerprint: textOf(config.evalDataset) }),
      };
      onEvent({ event: "training.started", data: started });
      // As every engine: the end is saved again.
      if (Number(trained) === maxSteps) save(maxSteps);
      for (let step = Number(trained) + 1; step <= maxSteps; step++) {
        await setImmediate();
        signal.throwIfAborted();
        const evalLoss = evalLossAt(step);
        onEvent({ event: "training.log", data: { step, loss: 1, evalLoss } });
        if (step < maxSteps && step % config.saveSteps !== 0) continue;
        save(step);
      }

      function save(step: number): void {
        const path = `artifacts/step-${step}`;
        mkdirSync(join(directory, path), { recursive: true });
        for (const file of ["config.json", STATE]) writeFileSync(join(directory, path, file), "{}");
        onEvent({ event: "checkpoint.saved", data: { step, kind: "model", path } });
      }
    },
  };
}

function textOf({ path }: DatasetConfig): string {
  return readFileSync(String(path), "utf8");
}
