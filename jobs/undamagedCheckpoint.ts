import { existsSync } from "node:fs";
import { join } from "node:path";
import { CHECKSUMS_FILE, damagedFile } from "../disk/checksums.ts";
import { readExisting } from "../disk/json.ts";
import { KitError } from "../protocol/error.ts";
import { isRecord } from "../protocol/isRecord.ts";

/** Written by engines that follow `transformers`. */
const STATE_FILE = "trainer_state.json";

/**
 * Checks a checkpoint before resuming from it: its files match their checksums, and its state matches the
 * folder's step.
 * @throws KitError `CHECKPOINT_INVALID`, `CANNOT_READ`
 */
export function assertUndamaged({ checkpoint, step }: { checkpoint: string; step: number }): void {
  // The engine decides about a missing or unreadable state.
  const state = readExisting(join(checkpoint, STATE_FILE)) ?? {};
  const checksumsPath = join(checkpoint, CHECKSUMS_FILE);
  const lacksChecksums = hasChecksums(state) && !existsSync(checksumsPath);
  const damaged = lacksChecksums ? checksumsPath : damagedFile(checkpoint);
  if (damaged !== undefined) {
    throw new KitError(
      "CHECKPOINT_INVALID",
      `${damaged} has changed since it was saved. Use another checkpoint.`,
    );
  }
  const found = state["global_step"];
  if (found === undefined || found === step) return;
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${join(checkpoint, STATE_FILE)} records step ${JSON.stringify(found)}, not ${step}. Use another checkpoint.`,
  );
}

/** Whether Kit's entry in the state says that the checkpoint has checksums. */
function hasChecksums({ stateful_callbacks: callbacks }: Record<string, unknown>): boolean {
  const kitState = isRecord(callbacks) ? callbacks["Kit"] : undefined;
  const attributes = isRecord(kitState) ? kitState["attributes"] : undefined;
  return isRecord(attributes) && attributes["checksums"] === true;
}
