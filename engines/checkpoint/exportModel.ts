import { randomBytes } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { type Lock, LOCK_SILENCE_MS, takeLock } from "../../disk/lock.ts";
import { KitError, isKitError } from "../../protocol/error.ts";
import type { FetchOptions } from "../hub/fetchModel.ts";
import { CONFIG_FILE, WEIGHTS_INDEX } from "../hub/modelFiles.ts";
import { fetchBase, findBase } from "./adapterBase.ts";
import { type SavedAdapter, ADAPTER_CONFIG, adapterOf } from "./adapterConfig.ts";
import { openUpdates } from "./adapterUpdates.ts";
import { configCopies, tokenizerCopies } from "./companions.ts";
import { readConfig } from "./configFile.ts";
import { type PartialDirectory, beginDirectory, beginWithin, cannotSave } from "./directory.ts";
import { copyMerged, listTensors } from "./mergedCopy.ts";
import { weightFiles } from "./savedModel.ts";
import { promptStyleOf } from "./savedTokenizer.ts";

type Options = Pick<FetchOptions, "signal" | "onNote">;

/**
 * Writes a checkpoint as a whole model that stands by itself, in Hugging Face's layout: an adapter is
 * merged into its base, in the types and files that the base has. Works for any architecture.
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

/** @throws KitError `CANNOT_WRITE` while another export writes there */
async function lockTarget(target: string, { work }: Place, options: Options): Promise<Lock> {
  const { signal, onNote = () => {} } = options;
  const onWait = () =>
    onNote(
      `waiting up to ${LOCK_SILENCE_MS / 1000} s for a sign of another export to ${target}, which is not on this machine`,
    );
  let lock: Lock | undefined;
  try {
    mkdirSync(dirname(target), { recursive: true });
    lock = await takeLock(`${work}.lock`, 0, { signal, onWait });
  } catch (cause) {
    signal?.throwIfAborted();
    throw cannotSave(target, cause);
  }
  if (lock) return lock;
  throw new KitError(
    "CANNOT_WRITE",
    `Another export is writing ${target}. Wait until it ends, or name another folder.`,
  );
}

async function writeModel(
  checkpoint: string,
  target: string,
  { signal, place, lock }: Options & { place: Place; lock: Lock },
): Promise<number> {
  // Another export may have written it since.
  assertEmpty(target);
  const { directory: model, adapter } = sourceOf(checkpoint);
  const files = weightFiles(model).files.map((path) => ({ path, ...listTensors(path) }));
  const updateOf = adapter
    ? openUpdates(checkpoint, adapter, { directory: model, lists: files })
    : () => undefined;
  let partial: PartialDirectory | undefined;
  try {
    removeLeft(place.work);
    partial = place.begin(`${place.work}.${randomBytes(6).toString("hex")}.partial`);
    for (const [name, content] of companionsOf(checkpoint, model)) partial.write(name, content);
    for (const file of files) {
      const to = join(partial.path, basename(file.path));
      await copyMerged(file.path, to, file, { updateOf, pause });
    }
    assertHeld();
    partial.commit();
  } catch (cause) {
    partial?.discard();
    if (signal?.aborted || isKitError(cause)) throw cause;
    throw cannotSave(target, cause);
  }
  return files.reduce((sum, { path }) => sum + statSync(path).size, 0);

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

/** Where an export writes until it is whole. */
interface Place {
  /** What the paths of all that it writes for itself begin with. */
  work: string;
  begin: (partial: string) => PartialDirectory;
}

const WORK = ".kit-export";

/** Beside a new folder, or in one that is there, whose parent may be another's. */
function placeOf(target: string): Place {
  if (!isThere(target)) {
    const work = join(dirname(target), `.${basename(target)}${WORK}`);
    return { work, begin: (partial) => beginDirectory(target, partial) };
  }
  // Of a link.
  const folder = realpathSync(target);
  const begin = (partial: string) => beginWithin(folder, partial, CONFIG_FILE);
  return { work: join(folder, WORK), begin };
}

/** Removes what killed exports have left, for whoever holds the lock. */
function removeLeft(work: string): void {
  const [parent, begin] = [dirname(work), `${basename(work)}.`];
  for (const name of readdirSync(parent)) {
    const isLeft =
      name.startsWith(begin) && /^[0-9a-f]{12}\.partial$/.test(name.slice(begin.length));
    if (isLeft) rmSync(join(parent, name), { recursive: true, force: true });
  }
}

function isThere(target: string): boolean {
  try {
    return Boolean(lstatSync(target));
  } catch {
    return false;
  }
}

/** @throws KitError `CANNOT_WRITE` where something is already */
function assertEmpty(target: string): void {
  if (!isThere(target)) return;
  // A link that leads nowhere is something, too.
  const isFolder = statSync(target, { throwIfNoEntry: false })?.isDirectory();
  // What a killed export has left is removed.
  if (isFolder && readdirSync(target).every((name) => name.startsWith(`${WORK}.`))) return;
  throw new KitError(
    "CANNOT_WRITE",
    `There is something at ${target} already. Name a folder that is empty or not there yet.`,
  );
}

/** The directory of a checkpoint's whole model, and the adapter to it. */
function sourceOf(checkpoint: string): { directory: string; adapter?: SavedAdapter } {
  const path = join(checkpoint, ADAPTER_CONFIG);
  const config = readConfig(path, "optional");
  if (!config) return { directory: checkpoint };
  const adapter = adapterOf(path, config);
  return { directory: findBase(checkpoint, adapter.base), adapter };
}

/** All but the weights. The tokenizer that was trained with lies beside an adapter. */
function companionsOf(checkpoint: string, model: string): [string, string | Uint8Array][] {
  const hasTokenizer = existsSync(join(checkpoint, "tokenizer.json"));
  const index = join(model, WEIGHTS_INDEX);
  return Object.entries({
    ...configCopies(model),
    ...tokenizerCopies(hasTokenizer ? checkpoint : model, promptStyleOf(checkpoint)),
    ...(weightFiles(model).label === index && { [WEIGHTS_INDEX]: readFileSync(index) }),
  });
}
