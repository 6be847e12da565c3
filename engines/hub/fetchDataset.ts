import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { type FileType, type HubSplit, typeOfFile } from "../../protocol/dataset.ts";
import { KitError, isKitError } from "../../protocol/error.ts";
import type { FetchOptions } from "./fetchModel.ts";
import { type HubCache, openCache } from "./hubCache.ts";
import { type HubListing, cachedListing, listFiles, listingText } from "./hubListing.ts";
import { type HubName, datasetName, isCommit, isParquetConversion } from "./hubName.ts";
import type { HubRequest } from "./hubRequest.ts";
import { hubSettings } from "./hubSettings.ts";
import { createDownloader, hasSize } from "./repoDownload.ts";
import { splitFiles } from "./splitFiles.ts";

/** A split of a dataset in the cache. */
export interface FetchedSplit {
  type: FileType;
  /** Absolute paths. */
  paths: string[];
}

/**
 * Finds a dataset's split in the shared Hugging Face cache, and downloads missing files. Asks the hub each time for
 * the commit of a branch, but only once for the files of a commit. Uses cached files if the hub is unreachable.
 * @throws KitError `HUB_UNREACHABLE`, `HUB_INVALID`, `DATASET_UNREADABLE`, `DATASET_INVALID`,
 * `CANNOT_WRITE`
 */
export async function fetchDataset(
  split: HubSplit,
  options: Omit<FetchOptions, "check"> = {},
): Promise<FetchedSplit> {
  const { signal = new AbortController().signal, onNote = () => undefined } = options;
  const { settings = hubSettings() } = options;
  const name = nameOf(split);
  const { repo } = name;
  const cache = openCache(settings.cache, name);
  const request = { settings, name, signal };
  const { commit, files: listed } = await findListing(request, cache, onNote);
  const { files, isPartial } = splitFiles(listed, split, isParquetConversion(name));
  const directory = cache.snapshotPath(commit);
  const isCached = files.every((file) => hasSize(join(directory, file.name), file));
  if (!isCached && settings.isOffline) throw offline(request);
  if (!isCached) await createDownloader(request, commit, cache, onNote).fetchLarge(files);
  onNote(`${repo} at ${commit}: ${summary(files.map((file) => file.name))}`);
  if (isPartial) {
    onNote(
      `warning: the hub keeps only the first part of ${repo} as Parquet. Set revision: "main" to read all of its own files.`,
    );
  }
  const paths = files.map((file) => join(directory, file.name));
  return { type: typeOf(paths), paths };
}

function nameOf({ name, revision }: HubSplit): HubName {
  const found = datasetName(name, revision);
  if (found) return found;
  throw new KitError(
    "DATASET_UNREADABLE",
    datasetName(name)
      ? `${JSON.stringify(revision)} is not a valid revision of ${name}. Set revision to a branch, tag or commit.`
      : `${JSON.stringify(name)} is not a valid dataset name. Write "org/name", as in its page's address.`,
  );
}

/** The dataset's files, from the hub or from the cache. */
async function findListing(
  request: HubRequest,
  cache: HubCache,
  onNote: (text: string) => void,
): Promise<HubListing> {
  const { settings, name, signal } = request;
  const commit = cache.commitOf(name.revision);
  const cached = commit && cachedListing(cache.listingPath(commit), request);
  if (cached && (settings.isOffline || isCommit(name.revision))) return cached;
  if (settings.isOffline) throw offline(request);
  try {
    const listing = await listFiles(request);
    cache.write(cache.listingPath(listing.commit), listingText(listing));
    cache.remember(name.revision, listing.commit);
    return listing;
  } catch (error) {
    signal.throwIfAborted();
    if (!cached || !isKitError(error)) throw error;
    onNote(`warning: ${error.message}\n  using ${name.repo} at ${cached.commit} from the cache`);
    return cached;
  }
}

function offline({ settings, name: { repo } }: HubRequest): KitError {
  return new KitError(
    "HUB_UNREACHABLE",
    `HF_HUB_OFFLINE is set, and ${repo} is not in ${settings.cache}. Remove the variable to download it.`,
  );
}

/** The first name, and the number of others. */
function summary([first = "", ...others]: string[]): string {
  return others.length > 0 ? `${first} and ${others.length} more` : first;
}

/** Many .json files on the hub are really JSONL. */
function typeOf([first = ""]: string[]): FileType {
  const type = typeOfFile(first);
  return type === "json" && firstByte(first) === "{" ? "jsonl" : type;
}

/** The first byte that isn't white space. */
function firstByte(path: string): string {
  const start = Buffer.alloc(256);
  const file = openSync(path, "r");
  try {
    return start.toString("latin1", 0, readSync(file, start)).trimStart().slice(0, 1);
  } finally {
    closeSync(file);
  }
}
