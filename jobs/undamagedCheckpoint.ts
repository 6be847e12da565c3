import { closeSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { damagedFile } from "../disk/checksums.ts";
import { openIfThere } from "../disk/file.ts";
import { KitError } from "../protocol/error.ts";
import { isRecord } from "../protocol/isRecord.ts";

/** An engine's that writes it as `transformers` does. */
const STATE_FILE = "trainer_state.json";

/**
 * Checks a checkpoint before a training goes on from it: each file is as it was saved, and its state is of
 * the step by which its folder is named.
 * @throws KitError `CHECKPOINT_INVALID`, `CANNOT_READ`
 */
export function assertUndamaged({ checkpoint, step }: { checkpoint: string; step: number }): void {
  const damaged = damagedFile(checkpoint);
  if (damaged !== undefined) {
    throw new KitError(
      "CHECKPOINT_INVALID",
      `${damaged} is not as it was saved. Use another checkpoint.`,
    );
  }
  const found = stepOf(join(checkpoint, STATE_FILE));
  if (found === undefined || found === step) return;
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${join(checkpoint, STATE_FILE)} is of step ${JSON.stringify(found)}, not ${step}. Use another checkpoint.`,
  );
}

/** Undefined where the state does not say it: the engine decides what that means. */
function stepOf(path: string): unknown {
  const file = openIfThere(path);
  if (file === undefined) return undefined;
  try {
    const state: unknown = JSON.parse(readFileSync(file, "utf8"));
    return isRecord(state) ? state["global_step"] : undefined;
  } catch {
    // Not JSON.
    return undefined;
  } finally {
    closeSync(file);
  }
}
