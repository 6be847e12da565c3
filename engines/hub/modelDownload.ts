import { existsSync, mkdirSync, renameSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { takeLock } from "../../disk/lock.ts";
import { KitError } from "../../protocol/error.ts";
import {
  COMPANION_FILES,
  MOST_CONFIG_MIB,
  MOST_TOKENIZER_MIB,
  TOKENIZER_FILE,
  firstFiles,
  hasWeights,
  listedWeights,
} from "../modelFiles/names.ts";
import { createDownloadNotes, megabytes } from "./downloadNotes.ts";
import type { FetchOptions } from "./fetchModel.ts";
import { downloadFile } from "./fileDownload.ts";
import { type HubCache, type HubModel, sizeOf } from "./hubCache.ts";
import type { HubFile, HubListing } from "./hubListing.ts";
import type { HubRequest } from "./hubRequest.ts";

/** Downloads the files of a model that the cache lacks, and no others of its repository. */
export async function downloadModel(
  request: HubRequest,
  { commit, files }: HubListing,
  cache: HubCache,
  { onNote, check }: Required<Pick<FetchOptions, "check">> & { onNote: (text: string) => void },
): Promise<HubModel> {
  const { settings, name } = request;
  const { repo } = name;
  const directory = cache.snapshotPath(commit);
  const listed = files.map((file) => file.name);

  /** Those that are not here yet. Links those that are here of another commit. */
  function missing(names: string[]): HubFile[] {
    return names.flatMap((wanted) => {
      const file = files.find((one) => one.name === wanted);
      if (!file) throw indexDamaged(repo);
      if (hasSize(join(directory, wanted), file)) return [];
      if (!hasSize(cache.blobPath(file.hash), file)) return [file];
      cache.link(commit, file.name, file.hash);
      return [];
    });
  }

  async function fetchAll(wanted: HubFile[], onBytes: (bytes: number) => void): Promise<void> {
    let before = 0;
    for (const file of wanted) {
      await fetchFile(file, (bytes) => onBytes(before + bytes));
      before += file.size;
    }
  }

  async function fetchFile(file: HubFile, onBytes: (bytes: number) => void): Promise<void> {
    const { hash } = file;
    const [blob, path] = [cache.blobPath(hash), cache.partialPath(hash)];
    const url = `${settings.endpoint}/${repo}/resolve/${commit}/${encodeURIComponent(file.name)}`;
    const onWait = () => onNote(`waiting for another process that downloads ${repo}`);
    const lockPath = cache.lockPath(hash);
    mkdirSync(dirname(lockPath), { recursive: true });
    const lock = await takeLock(lockPath, Infinity, { signal: request.signal, onWait });
    try {
      cache.makeBlobsFolder();
      if (!hasSize(blob, file)) {
        await downloadFile({ ...request, url, file, path, onBytes });
        renameSync(path, blob);
      }
      cache.link(commit, file.name, hash);
    } finally {
      lock?.release();
    }
  }

  async function assertRoom(wanted: HubFile[]): Promise<void> {
    const bytes = wanted.reduce(
      (sum, { size, hash }) => sum + size - sizeOf(cache.partialPath(hash)),
      0,
    );
    const { bavail, bsize } = await statfs(directory);
    if (bytes <= bavail * bsize) return;
    throw new KitError(
      "CANNOT_WRITE",
      `${repo} takes ${megabytes(bytes)}, but ${settings.cache} has room for ${megabytes(bavail * bsize)}. Free disk space, or set HF_HUB_CACHE to a folder on a larger disk.`,
    );
  }

  function assertSizes(names: string[], most: number): void {
    const huge = files.find(({ name, size }) => names.includes(name) && size > most * 2 ** 20);
    if (!huge) return;
    throw new KitError(
      "MODEL_INVALID",
      `${huge.name} of ${repo} has ${megabytes(huge.size)}, which no model's has. Use another model.`,
    );
  }

  if (!hasWeights(listed)) {
    throw new KitError(
      "MODEL_INVALID",
      `${repo} has no model.safetensors with a config.json. Use a model published in that format. If this is an adapter, use its base model.`,
    );
  }
  const companions = COMPANION_FILES.filter((file) => listed.includes(file));
  assertSizes(firstFiles(listed), MOST_CONFIG_MIB);
  assertSizes(companions, MOST_TOKENIZER_MIB);
  await fetchAll(missing(firstFiles(listed)), () => undefined);
  await check(directory);
  if (!listed.includes(TOKENIZER_FILE)) {
    throw new KitError(
      "MODEL_INVALID",
      `The tokenizer of ${repo} has no ${TOKENIZER_FILE}. Use a model that has one.`,
    );
  }
  const weights = listedWeights(directory);
  if (weights.length === 0) throw indexDamaged(repo);
  const rest = missing([...companions, ...weights]);
  if (rest.length > 0) {
    await assertRoom(rest);
    const all = rest.reduce((sum, { size }) => sum + size, 0);
    await fetchAll(rest, createDownloadNotes(repo, all, onNote));
  }
  for (const file of COMPANION_FILES) if (!listed.includes(file)) cache.noteAbsence(commit, file);
  cache.remember(name.revision, commit);
  return { directory, commit };
}

/** Whether all of a file is there, also after whoever wrote it has lost power. */
function hasSize(path: string, { size }: HubFile): boolean {
  return existsSync(path) && sizeOf(path) === size;
}

function indexDamaged(repo: string): KitError {
  return new KitError(
    "MODEL_INVALID",
    `The index of ${repo}'s weights is damaged, or names files that are not there. Use another revision or model.`,
  );
}
