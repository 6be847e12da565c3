import { join } from "node:path";
import { type ErrorCode, KitError, cannotWrite, isKitError } from "../../protocol/error.ts";
import { SIDECAR_FILES, TOKENIZER_CONFIG, listedWeights } from "../modelFiles/names.ts";
import { isCompleteSafetensors } from "../modelFiles/safetensors.ts";
import { type HubSnapshot, openCache } from "./hubCache.ts";
import { type HubListing, listFiles } from "./hubListing.ts";
import { type HubName, isCommit } from "./hubName.ts";
import { type HubSettings, hubSettings } from "./hubSettings.ts";
import { downloadModel } from "./modelDownload.ts";

export interface FetchOptions {
  /** Aborting ends a download at once; a later one resumes it. */
  signal?: AbortSignal | undefined;
  /** Called with messages on a download's progress. */
  onNote?: ((text: string) => void) | undefined;
  /** Throws for a model whose configuration isn't supported. Called with its folder, before its weights are downloaded. */
  check?: (directory: string) => void | Promise<void>;
  /** Default: from the environment variables. */
  settings?: HubSettings;
}

/** Errors after which the cached model is used. */
const RECOVERABLE: ErrorCode[] = ["CANNOT_WRITE", "HUB_UNREACHABLE", "MODEL_REFUSED"];

/**
 * Finds a model in the shared Hugging Face cache, and downloads missing files. Asks the hub each time for the commit
 * of a branch, but nothing about a commit whose files are all cached. Uses the cached model if the hub is unreachable
 * or the disk is full.
 * @throws KitError `HUB_UNREACHABLE`, `HUB_INVALID`, `MODEL_UNKNOWN`, `MODEL_REFUSED`,
 * `MODEL_INVALID`, `CANNOT_WRITE`
 */
export async function fetchModel(name: HubName, options: FetchOptions = {}): Promise<HubSnapshot> {
  const { signal = new AbortController().signal, onNote = () => undefined } = options;
  const { settings = hubSettings(), check = () => undefined } = options;
  const cache = openCache(settings.cache, name);
  const found = cache.find(name.revision);
  if (found && isCommit(name.revision) && isVerified(found)) return found;
  if (found && settings.isOffline) {
    if (!cache.isComplete(found, [TOKENIZER_CONFIG])) {
      onNote(
        `warning: ${name.repo} is in the cache without its ${TOKENIZER_CONFIG}, and perhaps its chat template. Remove HF_HUB_OFFLINE to download them.`,
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
    return useCached(found, error);
  }
  try {
    return await downloadModel(request, listing, cache, { onNote, check });
  } catch (error) {
    signal.throwIfAborted();
    const problem = isKitError(error)
      ? error
      : cannotWrite(`download ${name.repo} to ${settings.cache}`, error);
    const cached = cache.find(listing.commit);
    if (!cached || !RECOVERABLE.includes(problem.code)) throw problem;
    return useCached(cached, problem);
  }

  /** Whether all files are there and whole: a power loss may have truncated some. */
  function isVerified(model: HubSnapshot): boolean {
    const weights = listedWeights(model.directory).map((file) => join(model.directory, file));
    return cache.isComplete(model, SIDECAR_FILES) && weights.every(isCompleteSafetensors);
  }

  function useCached(model: HubSnapshot, problem: KitError): HubSnapshot {
    onNote(`warning: ${problem.message}\n  using ${name.repo} at ${model.commit} from the cache`);
    return model;
  }
}
