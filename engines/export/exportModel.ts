import { randomBytes } from "node:crypto";
import { basename, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Lock } from "../../disk/lock.ts";
import { KitError, isKitError } from "../../protocol/error.ts";
import type { ExportFormatName } from "../../protocol/exportFormat.ts";
import { type PartialDirectory, cannotSave } from "../checkpoint/directory.ts";
import type { FetchOptions } from "../hub/fetchModel.ts";
import { fetchBase } from "../lora/base.ts";
import type { ExportFormat, FormatOptions } from "./format.ts";
import { gguf } from "./gguf.ts";
import { safetensors } from "./safetensors.ts";
import { type Place, assertEmpty, lockTarget, placeOf, removeLeft } from "./target.ts";

const FORMATS: Record<ExportFormatName, ExportFormat> = { safetensors, gguf };

interface Options extends Pick<FetchOptions, "signal" | "onNote">, Partial<FormatOptions> {
  /** Default: `safetensors`, in the types and files that the model has. */
  format?: ExportFormatName;
}

/** The outcome of an export. */
export interface Exported {
  /** What `loadModel` takes: the folder, or a file in it. */
  path: string;
  /** Of the weights, a count. */
  bytes: number;
}

/**
 * Writes a checkpoint as a whole model that stands by itself: an adapter is merged into its base. In
 * safetensors, works for any architecture.
 * @param checkpoint directory of a model, or of an adapter whose base is on this disk or the hub
 * @param target absolute path of a directory that is empty, or not there yet
 * @param options aborting leaves nothing of it. `name`: by default the target's
 * @throws KitError `CHECKPOINT_INVALID`, `CHECKPOINT_UNWRITABLE`, `CONFIG_INVALID` for a type that does not
 * fit, or as `fetchModel`
 */
export async function exportModel(
  checkpoint: string,
  target: string,
  options: Options = {},
): Promise<Exported> {
  assertEmpty(target);
  await fetchBase(checkpoint, options);
  const { format: formatName = "safetensors" } = options;
  const format = FORMATS[formatName];
  const asked = { ...options, name: options.name ?? basename(target) };
  const file = format.mainFile(asked);
  const place = placeOf(target, file);
  const lock = await lockTarget(target, place, options);
  try {
    const bytes = await writeModel(checkpoint, target, {
      ...asked,
      ...{ write: format.write, place, lock },
    });
    return { path: formatName === "gguf" ? join(target, file) : target, bytes };
  } finally {
    lock.release();
  }
}

type WriteOptions = Pick<Options, "signal" | "onNote"> &
  FormatOptions & { write: ExportFormat["write"]; place: Place; lock: Lock };

async function writeModel(
  checkpoint: string,
  target: string,
  { signal, onNote = () => {}, write, place, lock, ...asked }: WriteOptions,
): Promise<number> {
  // Another export may have written it since.
  assertEmpty(target);
  let partial: PartialDirectory | undefined;
  try {
    removeLeft(place.work);
    partial = place.begin(`${place.work}.${randomBytes(6).toString("hex")}.partial`);
    const bytes = await write(checkpoint, partial, { ...asked, pause, onNote });
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
