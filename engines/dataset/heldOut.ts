import { KitError } from "../../protocol/error.ts";
import { type Random, createRandom } from "./random.ts";

/**
 * Picks the held-out rows by the seed: a share of all, at least one and not all.
 * @returns 1 for each held-out row, 0 for the others
 * @throws KitError `DATASET_INVALID` for a single row
 */
export function heldOutRows(rows: number, share: number, seed: number): Uint8Array {
  if (rows < 2) {
    throw new KitError(
      "DATASET_INVALID",
      "The dataset has a single row with something to learn, and evalSplit needs two. Add rows, or remove evalSplit.",
    );
  }
  const count = Math.min(rows - 1, Math.max(1, Math.round(share * rows)));
  return sampleRows(rows, count, createRandom(seed, "held out"));
}

/**
 * Samples rows uniformly without replacement: Knuth's selection sampling.
 * @returns 1 for each sampled row, 0 for the others
 */
export function sampleRows(rows: number, count: number, random: Random): Uint8Array {
  const isSampled = new Uint8Array(rows);
  let remaining = count;
  for (let row = 0; row < rows; row++) {
    if (random.uniform() * (rows - row) >= remaining) continue;
    isSampled[row] = 1;
    remaining--;
  }
  return isSampled;
}
