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
import {
  type StagingArea,
  assertEmpty,
  lockTarget,
  stagingArea,
  removeLeftovers,
} from "./target.ts";

const FORMATS: Record<ExportFormatName, ExportFormat> = { safetensors, gguf };

interface Options extends Pick<FetchOptions, "signal" | "onNote">, Partial<FormatOptions> {
  /** Default: `safetensors`, in the model's own types and files. */
  format?: ExportFormatName;
}

export interface ExportResult {
  /** Path for `loadModel`: the folder, or a file in it. */
  path: string;
  /** Size of the weights. */
  bytes: number;
}

/**
 * Exports a checkpoint as a self-contained model, merging an adapter into its base. As safetensors, it may have any
 * architecture.
 * @param checkpoint directory of a model, or of an adapter whose base is on this disk or the hub
 * @param target absolute path of an empty or new directory
 * @param options `signal` aborts, and leaves nothing behind; `name` is the target's by default
 * @throws KitError `CANNOT_WRITE` if the target isn't empty or another export writes there, `CHECKPOINT_INVALID`,
 * `CHECKPOINT_UNWRITABLE`, `CONFIG_INVALID` for an unsuitable type, and those of `fetchModel`
 */
export async function exportModel(
  checkpoint: string,
  target: string,
  options: Options = {},
): Promise<ExportResult> {
  assertEmpty(target);
  await fetchBase(checkpoint, options);
  const { format: formatName = "safetensors" } = options;
  const format = FORMATS[formatName];
  const formatOptions = { ...options, name: options.name ?? basename(target) };
  const file = format.mainFile(formatOptions);
  const staging = stagingArea(target, file);
  const lock = await lockTarget(target, staging, options);
  try {
    const bytes = await writeModel(checkpoint, target, {
      ...formatOptions,
      write: format.write,
      staging,
      lock,
    });
    return { path: formatName === "gguf" ? join(target, file) : target, bytes };
  } finally {
    lock.release();
  }
}

type WriteOptions = Pick<Options, "signal" | "onNote"> &
  FormatOptions & { write: ExportFormat["write"]; staging: StagingArea; lock: Lock };

async function writeModel(
  checkpoint: string,
  target: string,
  { signal, onNote = () => {}, write, staging, lock, ...formatOptions }: WriteOptions,
): Promise<number> {
  // Another export may have written there meanwhile.
  assertEmpty(target);
  let partial: PartialDirectory | undefined;
  try {
    removeLeftovers(staging.work);
    partial = staging.begin(`${staging.work}.${randomBytes(6).toString("hex")}.partial`);
    const bytes = await write(checkpoint, partial, { ...formatOptions, pause, onNote });
    assertLockHeld();
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
    assertLockHeld();
  }

  function assertLockHeld(): void {
    if (lock.isHeld()) return;
    throw new KitError(
      "CANNOT_WRITE",
      `Another export took over ${target}, because this one was unresponsive. Wait for it to finish, or choose another folder.`,
    );
  }
}
