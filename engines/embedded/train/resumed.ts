import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isRecord } from "../../../protocol/isRecord.ts";
import { KitError } from "../../../protocol/error.ts";
import type { LoraConfig } from "../../../protocol/trainConfig.ts";
import type { LlamaShape } from "../../llama/dimensions.ts";
import { type TrainedState, readTrainedState } from "../../checkpoint/trainedState.ts";
import { placeOf, startOf } from "./trainerState.ts";

type Place = NonNullable<ReturnType<typeof placeOf>>;

/** The state of a training that is resumed; at step 0 when it starts anew. */
export interface Resumed extends Place {
  state?: TrainedState;
}

const STATE_FILE = "trainer_state.json";

/**
 * @param path a checkpoint's directory, or undefined to start anew
 * @throws KitError `CHECKPOINT_INVALID`
 */
export function readResumed(
  path: string | undefined,
  shape: LlamaShape,
  lora: LoraConfig | undefined,
): Resumed {
  if (path === undefined) return { step: 0, tokens: 0, losses: [], logs: [] };
  const state = readTrainedState(path, shape, lora);
  const file = join(path, STATE_FILE);
  const place = placeOf(readState(file));
  if (place) return { ...place, state };
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${file} does not say how far the training was. Use a checkpoint that Kit saved.`,
  );
}

/** The model of the hub that a training began with, by its checkpoint. */
export function startedFrom(path: string | undefined): ReturnType<typeof startOf> {
  return path === undefined ? undefined : startOf(readState(join(path, STATE_FILE)));
}

/** Empty for a file that is missing or damaged. */
function readState(file: string): Record<string, unknown> {
  try {
    const state: unknown = JSON.parse(readFileSync(file, "utf8"));
    return isRecord(state) ? state : {};
  } catch {
    // It says nothing.
    return {};
  }
}
