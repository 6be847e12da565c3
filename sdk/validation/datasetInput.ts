import {
  type DatasetCode,
  type DatasetConfig,
  type DatasetFiles,
  type DatasetInput,
  type DatasetPath,
  type FileType,
  type HubDataset,
  datasetPaths,
  typeOfFile,
} from "../../protocol/dataset.ts";
import { KitError } from "../../protocol/error.ts";

/** A dataset's recorded config, and the project's own code in it. */
export interface ReadDataset {
  config: DatasetConfig;
  code: DatasetCode;
}

/** @throws KitError `OPTION_INVALID` for files of several kinds */
export function readDataset(input: DatasetInput, option: string): ReadDataset {
  if (!isRecords(input)) return { config: { type: "code", path: [] }, code: { rows: input } };
  const { columns, map } = input;
  const options = { ...(columns && { columns }), ...(map && { isMapped: true as const }) };
  return { config: { ...sourceOf(input, option), ...options }, code: map ? { map } : {} };
}

function sourceOf(input: DatasetFiles | HubDataset, option: string): DatasetConfig {
  if (!isOfHub(input)) return { type: input.type ?? typeOf(input.path, option), path: input.path };
  const { type, name, config, split, revision } = input;
  return { type, path: [], name, config, split, revision };
}

function isRecords(input: DatasetInput): input is DatasetFiles | HubDataset {
  return typeof input === "object" && ("path" in input || isOfHub(input));
}

function isOfHub(input: object): input is HubDataset {
  return "type" in input && input.type === "hub";
}

/** The files' type by extension; JSONL by default. */
function typeOf(path: DatasetPath, option: string): FileType {
  const types = datasetPaths(path).map(typeOfFile);
  const [first = "jsonl", ...others] = [...new Set(types)];
  if (others.length === 0) return first;
  throw new KitError(
    "OPTION_INVALID",
    `createTrainer: "${option}.path" names files of several kinds: ${[first, ...others].join(", ")}. Set its type, or name files of one kind.`,
  );
}
