import { existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { KitError } from "../../protocol/error.ts";
import { STATE_FILE } from "../checkpoint/trainerState.ts";
import { ADAPTER_CONFIG } from "../lora/peftConfig.ts";
import { COMPANION_FILES, CONFIG_FILE, TOOLS_TEMPLATE_FILE } from "../modelFiles/names.ts";

const NAMES = new Set([CONFIG_FILE, ...COMPANION_FILES, ADAPTER_CONFIG, STATE_FILE]);
/** Weights in any of `transformers`' forms, vocabularies, and what the Trainer resumes from. */
const KINDS = [
  /^[\w.-]+\.safetensors(\.index\.json)?$/,
  /^(pytorch|adapter)_model[\w.-]*\.bin(\.index\.json)?$/,
  /^(vocab\.txt|[\w.-]+\.model)$/,
  /^(optimizer|scheduler|scaler)\.pt$/,
  /^rng_state(_\d+)?\.pth$/,
];

/**
 * The files of a model or a checkpoint that a cluster needs: whatever else lies in the folder, such as
 * an `.env`, stays here.
 * @returns their names and paths, by name
 * @throws KitError `CHECKPOINT_INVALID` for a link out of the folder, which could lead to any file
 */
export function filesToUpload(folder: string): [name: string, path: string][] {
  const top = readdirSync(folder).filter((name) => isOfModel(name));
  const below = [TOOLS_TEMPLATE_FILE].filter((name) => existsSync(join(folder, name)));
  return [...top, ...below]
    .map((name): [string, string] => [name, join(folder, name)])
    .filter(([, path]) => isFileWithin(path, allowedFolders(folder)))
    .sort();
}

function isOfModel(name: string): boolean {
  return NAMES.has(name) || KINDS.some((kind) => kind.test(name));
}

/** The folder itself; for one of the hub's cache, whose files are links, that of the model's files, too. */
function allowedFolders(folder: string): string[] {
  const real = realpathSync(folder);
  const parent = dirname(real);
  return basename(parent) === "snapshots" ? [real, join(dirname(parent), "blobs")] : [real];
}

function isFileWithin(path: string, allowed: readonly string[]): boolean {
  const isFile = orUnreadable(path, () => statSync(path).isFile());
  if (!isFile) return false;
  const real = realpathSync(path);
  if (allowed.some((folder) => real.startsWith(`${folder}${sep}`))) return true;
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${path} would travel to the cluster, but it links to a file outside of its folder. Remove the link, or save the file itself there.`,
  );
}

/** @throws KitError `CHECKPOINT_INVALID` when a file that travels cannot be read */
export function orUnreadable<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException;
    throw new KitError(
      "CHECKPOINT_INVALID",
      `${path} travels to the cluster, but cannot be read (${code}). Restore it, or remove the link to it.`,
      { cause },
    );
  }
}
