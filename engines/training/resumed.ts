import { join } from "node:path";
import { KitError } from "../../protocol/error.ts";
import type { LoraConfig } from "../../protocol/trainConfig.ts";
import { STATE_FILE, readState } from "../checkpoint/stateFile.ts";
import { type TrainedState, readTrainedState } from "../checkpoint/trainedState.ts";
import type { LlamaShape } from "../families/dimensions.ts";
import { placeOf } from "./trainerState.ts";

type Place = NonNullable<ReturnType<typeof placeOf>>;

/** The state of a training that is resumed; at step 0 when it starts anew. */
export interface Resumed extends Place {
  state?: TrainedState;
}

/**
 * @param path a checkpoint's directory, or undefined to start anew
 * @throws KitError `CHECKPOINT_INVALID`
 */
export function readResumed(
  path: string | undefined,
  shape: LlamaShape,
  lora: LoraConfig | undefined,
): Resumed {
  if (path === undefined)
    return { step: 0, tokens: 0, pending: { losses: [], metrics: {} }, logs: [] };
  const state = readTrainedState(path, shape, lora);
  const place = placeOf(readState(path));
  if (place) return { ...place, state };
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${join(path, STATE_FILE)} does not say how far the training was. Use a checkpoint that Kit saved.`,
  );
}
