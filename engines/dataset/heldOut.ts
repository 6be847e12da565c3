import { KitError } from "../../protocol/error.ts";
import { type Random, createRandom } from "./random.ts";

/**
 * The rows that are set aside to evaluate on: a share of all that the seed decides, at least one row
 * and not all.
 * @returns 1 for each of these rows, 0 for the others
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
  return chosenRows(rows, count, createRandom(seed, "held out"));
}

/**
 * Some of the rows, each choice as likely as the others: Knuth's selection sampling.
 * @returns 1 for each of these rows, 0 for the others
 */
export function chosenRows(rows: number, count: number, random: Random): Uint8Array {
  const isChosen = new Uint8Array(rows);
  let left = count;
  for (let row = 0; row < rows; row++) {
    if (random.uniform() * (rows - row) >= left) continue;
    isChosen[row] = 1;
    left--;
  }
  return isChosen;
}
