import { join } from "node:path";
import { readConfig } from "./configFile.ts";

/** Every engine writes it, with the names of `transformers`' TrainerState. */
export const STATE_FILE = "trainer_state.json";

/** Where the Trainer's callbacks keep their own. */
export const KIT = "Kit";

/** Of a training of many million steps. */
const MOST_STATE_MIB = 256;

/** Empty for a file that is missing or damaged. @param path of a checkpoint */
export function readState(path: string): Record<string, unknown> {
  try {
    return readConfig(join(path, STATE_FILE), "optional", MOST_STATE_MIB) ?? {};
  } catch {
    // It says nothing.
    return {};
  }
}

/** Kit's own attributes in the state. */
export function attributesOf(state: Record<string, unknown>): Record<string, unknown> {
  const callbacks = state["stateful_callbacks"] as Record<string, unknown> | undefined;
  const own = callbacks?.[KIT] as { attributes?: Record<string, unknown> } | undefined;
  return own?.attributes ?? {};
}

/** The model of the hub that a training began with, as its config names it, and its commit. */
export function startedFrom(
  path: string | undefined,
): { model: string; commit: string } | undefined {
  const { model, commit } = path === undefined ? {} : attributesOf(readState(path));
  return typeof model === "string" && typeof commit === "string" ? { model, commit } : undefined;
}
