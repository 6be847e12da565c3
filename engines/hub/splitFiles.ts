import { type HubSplit, typeOfFile } from "../../protocol/dataset.ts";
import { KitError } from "../../protocol/error.ts";
import type { HubFile } from "./hubListing.ts";

/** File types by preference; a split often has the same rows in several. */
const PREFERRED = ["parquet", "jsonl", "csv", "json"] as const;
/** Prefix of splits of which the hub converted only the first 5 GB to Parquet. */
const PARTIAL = "partial-";
const DEFAULT_CONFIG = "default";
const DEFAULT_SPLIT = "train";

/** Words in the names of files and folders, and the splits they mean. As in Python's `datasets`. */
const SPLIT_WORDS: Record<string, string> = {
  train: "train",
  training: "train",
  validation: "validation",
  valid: "validation",
  val: "validation",
  dev: "validation",
  test: "test",
  testing: "test",
  eval: "test",
  evaluation: "test",
};
const DATA_FILE = /\.(parquet|(jsonl|csv|tsv|json)(\.gz)?)$/i;
const METADATA_FILE = /(^|\/)([._]|(config|dataset_infos?|dataset_dict|state)\.json$)/;
const SHARD = /^(.+)-\d+-of-\d+$/;

/** The files of a split, in order. */
export interface SplitFiles {
  files: HubFile[];
  /** Whether the original dataset has more rows. */
  isPartial: boolean;
}

interface Candidate {
  file: HubFile;
  config: string | undefined;
  split: string | undefined;
  isPartial: boolean;
}

/**
 * Chooses a split's files by their names. Pure.
 * @param isParquetConversion whether the files are the hub's Parquet conversion, `<config>/<split>/0000.parquet`
 * @throws KitError `DATASET_INVALID` naming the available configs or splits
 */
export function splitFiles(
  all: HubFile[],
  { name, config, split = DEFAULT_SPLIT }: HubSplit,
  isParquetConversion: boolean,
): SplitFiles {
  const data = all.filter((file) => DATA_FILE.test(file.name) && !METADATA_FILE.test(file.name));
  const candidates = data.map(isParquetConversion ? parseConvertedPath : parseOriginalPath);
  if (candidates.length === 0) {
    throw invalid(`${name} has no Parquet, JSONL, CSV or JSON file. Use another dataset.`);
  }
  const inConfig = chooseConfig(name, candidates, config);
  const inSplit = chooseSplit(name, inConfig, split);
  const type = PREFERRED.find((type) => inSplit.some(({ file }) => typeOfFile(file.name) === type));
  const chosen = inSplit.filter(({ file }) => typeOfFile(file.name) === type);
  return {
    files: chosen.map(({ file }) => file).sort((one, other) => (one.name < other.name ? -1 : 1)),
    isPartial: chosen.some(({ isPartial }) => isPartial),
  };
}

function parseConvertedPath(file: HubFile): Candidate {
  const [config, folder = ""] = file.name.split("/");
  const isPartial = folder.startsWith(PARTIAL);
  return { file, config, split: isPartial ? folder.slice(PARTIAL.length) : folder, isPartial };
}

/** Parses an original file's path. `config` is undefined if the path names none. */
function parseOriginalPath(file: HubFile): Candidate {
  const parts = file.name.replace(DATA_FILE, "").split("/");
  const [first, ...others] = parts;
  const isConfig = others.length > 0 && first !== "data" && splitOf([first ?? ""]) === undefined;
  return { file, config: isConfig ? first : undefined, split: splitOf(parts), isPartial: false };
}

/** Detects the split from the file's name, otherwise from its folders. */
function splitOf(parts: string[]): string | undefined {
  const [, sharded] = SHARD.exec(parts.at(-1) ?? "") ?? [];
  if (sharded !== undefined) return SPLIT_WORDS[sharded] ?? sharded;
  const words = parts.toReversed().flatMap((part) => part.toLowerCase().split(/[^a-z]+/));
  const word = words.find((word) => Object.hasOwn(SPLIT_WORDS, word));
  return word === undefined ? undefined : SPLIT_WORDS[word];
}

function chooseConfig(name: string, all: Candidate[], requested: string | undefined): Candidate[] {
  const available = [...new Set(all.map(({ config }) => config ?? DEFAULT_CONFIG))];
  const [only = DEFAULT_CONFIG, ...others] = available;
  const config = requested ?? (others.length === 0 ? only : DEFAULT_CONFIG);
  const chosen = all.filter((file) => (file.config ?? DEFAULT_CONFIG) === config);
  if (chosen.length > 0) return chosen;
  throw invalid(
    requested === undefined
      ? `${name} has several configs. Set config to one of ${available.join(", ")}.`
      : `${name} has no config "${requested}". Set config to one of ${available.join(", ")}.`,
  );
}

function chooseSplit(name: string, all: Candidate[], requested: string): Candidate[] {
  const available = new Set(all.flatMap(({ split }) => split ?? []));
  // Files without a split in their names are for training.
  if (available.size === 0 && requested === DEFAULT_SPLIT) return all;
  const wanted = available.has(requested) ? requested : SPLIT_WORDS[requested];
  const chosen = all.filter(({ split }) => split !== undefined && split === wanted);
  if (chosen.length > 0) return chosen;
  const listed = [...available].join(", ") || DEFAULT_SPLIT;
  throw invalid(`${name} has no split "${requested}". Set split to one of ${listed}.`);
}

function invalid(message: string): KitError {
  return new KitError("DATASET_INVALID", message);
}
