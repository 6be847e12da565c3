import { join } from "node:path";
import { type ErrorCode, KitError, cannotWrite, isKitError } from "../../protocol/error.ts";
import { COMPANION_FILES, TOKENIZER_CONFIG, listedWeights } from "../modelFiles/names.ts";
import { isWholeSafetensors } from "../modelFiles/safetensors.ts";
import { type HubSnapshot, openCache } from "./hubCache.ts";
import { type HubListing, listFiles } from "./hubListing.ts";
import { type HubName, isCommit } from "./hubName.ts";
import { type HubSettings, hubSettings } from "./hubSettings.ts";
import { downloadModel } from "./modelDownload.ts";

export interface FetchOptions {
  /** Aborting ends a download at once; what has come is kept for the next. */
  signal?: AbortSignal | undefined;
  /** Takes a line for people on a download. */
  onNote?: ((text: string) => void) | undefined;
  /** Refuses a model by its configuration, before its weights are downloaded. Takes its folder. */
  check?: (directory: string) => void | Promise<void>;
  /** Default: the environment's. */
  settings?: HubSettings;
}

/** Errors that fall back to the cached copy. */
const OUTER_PROBLEMS: ErrorCode[] = ["CANNOT_WRITE", "HUB_UNREACHABLE", "MODEL_REFUSED"];

/**
 * Finds a model of the hub on this disk, and downloads what is missing of it to the folder that all
 * tools share. A branch is asked for each time, a commit until nothing of it can be missing. When the
 * hub can't be asked, or the disk takes no more, a model that is here is good enough.
 * @throws KitError `HUB_UNREACHABLE`, `HUB_INVALID`, `MODEL_UNKNOWN`, `MODEL_REFUSED`,
 * `MODEL_INVALID`, `CANNOT_WRITE`
 */
export async function fetchModel(name: HubName, options: FetchOptions = {}): Promise<HubSnapshot> {
  const { signal = new AbortController().signal, onNote = () => undefined } = options;
  const { settings = hubSettings(), check = () => undefined } = options;
  const cache = openCache(settings.cache, name);
  const found = cache.find(name.revision);
  if (found && isCommit(name.revision) && isSettled(found)) return found;
  if (found && settings.isOffline) {
    if (!cache.isComplete(found, [TOKENIZER_CONFIG])) {
      onNote(
        `warning: ${name.repo} is here without its ${TOKENIZER_CONFIG}, and perhaps its chat template. Remove HF_HUB_OFFLINE to download them.`,
      );
    }
    return found;
  }
  if (settings.isOffline) {
    throw new KitError(
      "HUB_UNREACHABLE",
      `HF_HUB_OFFLINE is set, and ${name.repo} at ${name.revision} is not in ${settings.cache}. Remove the variable to download the model.`,
    );
  }
  const request = { settings, name, signal };
  let listing: HubListing;
  try {
    listing = await listFiles(request);
  } catch (error) {
    signal.throwIfAborted();
    if (!found || !isKitError(error)) throw error;
    return useFound(found, error);
  }
  try {
    return await downloadModel(request, listing, cache, { onNote, check });
  } catch (error) {
    signal.throwIfAborted();
    const problem = isKitError(error)
      ? error
      : cannotWrite(`download ${name.repo} to ${settings.cache}`, error);
    const here = cache.find(listing.commit);
    if (!here || !OUTER_PROBLEMS.includes(problem.code)) throw problem;
    return useFound(here, problem);
  }

  /** A file that lost its end, as with the power, is downloaded again. */
  function isSettled(model: HubSnapshot): boolean {
    const weights = listedWeights(model.directory).map((file) => join(model.directory, file));
    return cache.isComplete(model, COMPANION_FILES) && weights.every(isWholeSafetensors);
  }

  function useFound(model: HubSnapshot, problem: KitError): HubSnapshot {
    onNote(`warning: ${problem.message}\n  using ${name.repo} at ${model.commit}, which is here`);
    return model;
  }
}
