import {
  type DatasetCode,
  type DatasetConfig,
  type DatasetFiles,
  type DatasetInput,
  type DatasetPath,
  datasetPaths,
  typeOfFile,
} from "../../protocol/dataset.ts";
import { KitError } from "../../protocol/error.ts";

/** A dataset in two parts: what a job's record says of it, and the project's own code. */
export interface ReadDataset {
  config: DatasetConfig;
  code: DatasetCode;
}

/** @throws KitError `OPTION_INVALID` for files of several kinds */
export function readDataset(input: DatasetInput, option: string): ReadDataset {
  if (!isFiles(input)) return { config: { type: "code", path: [] }, code: { rows: input } };
  const { path, type = typeOf(path, option), columns, map } = input;
  return {
    config: { type, path, ...(columns && { columns }), ...(map && { isMapped: true as const }) },
    code: map ? { map } : {},
  };
}

function isFiles(input: DatasetInput): input is DatasetFiles {
  return typeof input === "object" && "path" in input;
}

/** By the ending of the names: what has none of the others is JSONL. */
function typeOf(path: DatasetPath, option: string): DatasetConfig["type"] {
  const all = datasetPaths(path).map(typeOfFile);
  const [first = "jsonl", ...others] = [...new Set(all)];
  if (others.length === 0) return first;
  throw new KitError(
    "OPTION_INVALID",
    `createTrainer: "${option}.path" names files of several kinds: ${[first, ...others].join(", ")}. Set its type, or name files of one kind.`,
  );
}
