import { randomBytes } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { Lock } from "../../disk/lock.ts";
import { KitError, isKitError } from "../../protocol/error.ts";
import { type PartialDirectory, cannotSave } from "../checkpoint/directory.ts";
import type { FetchOptions } from "../hub/fetchModel.ts";
import { fetchBase } from "../lora/base.ts";
import { type FormatName, FORMATS } from "./formats.ts";
import { openSource } from "./source.ts";
import { type Place, assertEmpty, lockTarget, placeOf, removeLeft } from "./target.ts";

interface Options extends Pick<FetchOptions, "signal" | "onNote"> {
  /** Default: `safetensors`, in the types and files that the model has. */
  format?: FormatName;
}

/**
 * Writes a checkpoint as a whole model that stands by itself: an adapter is merged into its base. Works
 * for any architecture.
 * @param checkpoint directory of a model, or of an adapter whose base is on this disk or the hub
 * @param target absolute path of a directory that is empty, or not there yet
 * @param options aborting leaves nothing of it
 * @returns its bytes, a count
 * @throws KitError `CHECKPOINT_INVALID`, `CHECKPOINT_UNWRITABLE`, or as `fetchModel`
 */
export async function exportModel(
  checkpoint: string,
  target: string,
  options: Options = {},
): Promise<number> {
  assertEmpty(target);
  await fetchBase(checkpoint, options);
  const place = placeOf(target);
  const lock = await lockTarget(target, place, options);
  try {
    return await writeModel(checkpoint, target, { ...options, place, lock });
  } finally {
    lock.release();
  }
}

async function writeModel(
  checkpoint: string,
  target: string,
  { signal, format = "safetensors", place, lock }: Options & { place: Place; lock: Lock },
): Promise<number> {
  // Another export may have written it since.
  assertEmpty(target);
  const source = openSource(checkpoint);
  let partial: PartialDirectory | undefined;
  try {
    removeLeft(place.work);
    partial = place.begin(`${place.work}.${randomBytes(6).toString("hex")}.partial`);
    const bytes = await FORMATS[format].write(source, partial, pause);
    assertHeld();
    partial.commit();
    return bytes;
  } catch (cause) {
    partial?.discard();
    if (signal?.aborted || isKitError(cause)) throw cause;
    throw cannotSave(target, cause);
  }
  async function pause(): Promise<void> {
    await setImmediate();
    signal?.throwIfAborted();
    assertHeld();
  }

  function assertHeld(): void {
    if (lock.isHeld()) return;
    throw new KitError(
      "CANNOT_WRITE",
      `Another export took over ${target}, because this one was unresponsive. Wait until it ends, or name another folder.`,
    );
  }
}
