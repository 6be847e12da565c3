import { cpSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createEmbeddedEngine } from "../embedded/built.ts";
import { REAL_WEIGHTS, hasRealWeights, tune } from "../realWeights/realWeights.ts";
import type { Place } from "./environment.ts";

/** A model of 269 MB, more than travels with a job. */
export function describeRealWeights(at: () => Place): void {
  it.runIf(hasRealWeights)(
    "20 steps of an adapter of real weights in the storage have the embedded engine's losses",
    async () => {
      const { scratch, storage, createEngine } = at();
      const model = join(storage, "real-weights");
      cpSync(REAL_WEIGHTS, model, { recursive: true, dereference: true });
      const [ours, theirs] = await Promise.all([
        tune(createEmbeddedEngine(), scratch),
        tune(createEngine(), scratch, { model }),
      ]);
      const near = ours.losses.map((loss) => expect.closeTo(loss, 3) as number);
      expect(theirs.losses).toEqual(near);
    },
  );
}
