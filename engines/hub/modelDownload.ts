import { KitError } from "../../protocol/error.ts";
import {
  SIDECAR_FILES,
  MAX_CONFIG_MIB,
  MAX_TOKENIZER_MIB,
  TOKENIZER_FILE,
  firstFiles,
  hasWeights,
  listedWeights,
} from "../modelFiles/names.ts";
import type { FetchOptions } from "./fetchModel.ts";
import type { HubCache, HubSnapshot } from "./hubCache.ts";
import type { HubFile, HubListing } from "./hubListing.ts";
import type { HubRequest } from "./hubRequest.ts";
import { createDownloader } from "./repoDownload.ts";
import { megabytes } from "./transferNotes.ts";

/** Downloads only the files of a model that Kit reads and the cache lacks. */
export async function downloadModel(
  request: HubRequest,
  { commit, files }: HubListing,
  cache: HubCache,
  { onNote, check }: Required<Pick<FetchOptions, "check">> & { onNote: (text: string) => void },
): Promise<HubSnapshot> {
  const { name } = request;
  const { repo } = name;
  const directory = cache.snapshotPath(commit);
  const listed = files.map((file) => file.name);
  const download = createDownloader(request, commit, cache, onNote);

  function filesNamed(names: string[]): HubFile[] {
    return names.map((wanted) => {
      const file = files.find((one) => one.name === wanted);
      if (!file) throw damagedIndex(repo);
      return file;
    });
  }

  function assertSizes(names: string[], maxMiB: number): void {
    const huge = files.find(({ name, size }) => names.includes(name) && size > maxMiB * 2 ** 20);
    if (!huge) return;
    throw new KitError(
      "MODEL_INVALID",
      `${huge.name} of ${repo} is ${megabytes(huge.size)}, too large for such a file. Use another model.`,
    );
  }

  if (!hasWeights(listed)) {
    throw new KitError(
      "MODEL_INVALID",
      `${repo} has no model.safetensors with a config.json. Use a model published in that format. If this is an adapter, use its base model.`,
    );
  }
  const sidecars = SIDECAR_FILES.filter((file) => listed.includes(file));
  assertSizes(firstFiles(listed), MAX_CONFIG_MIB);
  assertSizes(sidecars, MAX_TOKENIZER_MIB);
  await download.fetch(filesNamed(firstFiles(listed)));
  await check(directory);
  if (!listed.includes(TOKENIZER_FILE)) {
    throw new KitError(
      "MODEL_INVALID",
      `The tokenizer of ${repo} has no ${TOKENIZER_FILE}. Use a model that has one.`,
    );
  }
  const weights = listedWeights(directory);
  if (weights.length === 0) throw damagedIndex(repo);
  await download.fetchLarge(filesNamed([...sidecars, ...weights]));
  for (const file of SIDECAR_FILES) if (!listed.includes(file)) cache.noteAbsence(commit, file);
  cache.remember(name.revision, commit);
  return { directory, commit };
}

function damagedIndex(repo: string): KitError {
  return new KitError(
    "MODEL_INVALID",
    `The index of ${repo}'s weights is damaged, or names files that are not there. Use another revision or model.`,
  );
}
