import { copyFileSync, existsSync, constants as fsConstants } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  type DatasetConfig,
  type MaterializeOptions,
  type MaterializedDatasets,
  datasetPaths,
  isRemote,
} from "../../protocol/dataset.ts";
import { cannotWrite } from "../../protocol/error.ts";
import type { TrainConfig } from "../../protocol/trainConfig.ts";
import { isUrl } from "../../protocol/url.ts";
import { type FileDataset, materializeDataset } from "../dataset/materialize.ts";
import { nameOf } from "../dataset/rows.ts";
import { restoreLocations } from "../dataset/sourceMap.ts";
import { objectiveOf } from "../objectives/objectives.ts";

/** The job's files that hold its datasets' rows. */
const FILES = { dataset: "data.jsonl", evalDataset: "evalData.jsonl" } as const;

type Option = keyof typeof FILES;

/**
 * Writes a training run's datasets into the job's folder, except files at URLs: a cluster's workers read those, before
 * the files written here.
 * @returns the config with these files, and a function that replaces their locations in messages with the original ones
 * @throws KitErrors of `materializeDataset`
 */
export async function materializeDatasets<Config extends TrainConfig>(
  config: Config,
  options: MaterializeOptions,
): Promise<MaterializedDatasets<Config>> {
  const dataset = await materialize(config, "dataset", config.dataset, options);
  const { evalDataset } = config;
  const evaluation =
    evalDataset && (await materialize(config, "evalDataset", evalDataset, options));
  return {
    config: { ...config, dataset: dataset.config, evalDataset: evaluation?.config },
    restoreLocations: (text) =>
      dataset.restoreLocations(evaluation ? evaluation.restoreLocations(text) : text),
  };
}

/** The config of a job whose datasets are already materialized. */
export function materializedConfig<Config extends TrainConfig>(
  config: Config,
  directory: string,
): Config {
  const { dataset, evalDataset } = config;
  return {
    ...config,
    dataset: materializedAt(join(directory, FILES.dataset), dataset),
    evalDataset: evalDataset && materializedAt(join(directory, FILES.evalDataset), evalDataset),
  };
}

/** @returns the dataset itself if it has only URLs */
function materializedAt(path: string, dataset: DatasetConfig): DatasetConfig {
  if (!isRemote(dataset)) return { type: "jsonl", path };
  const paths = datasetPaths(dataset.path);
  const urls = paths.filter(isUrl);
  return urls.length === paths.length ? dataset : { type: "jsonl", path: [...urls, path] };
}

async function materialize(
  config: TrainConfig,
  option: Option,
  dataset: DatasetConfig,
  { code, directory, from, onNote, signal }: MaterializeOptions,
): Promise<MaterializedDatasets<DatasetConfig>> {
  const unchanged = (text: string) => text;
  const path = join(directory, FILES[option]);
  const materialized = materializedAt(path, dataset);
  if (materialized === dataset) return { config: dataset, restoreLocations: unchanged };
  // Code, or a branch on the hub, may produce other rows now.
  const canChange = ["code", "hub"].includes(dataset.type) || dataset.isMapped;
  const isSame = from && isDeepStrictEqual(from.config[option], asWritten(dataset));
  const earlierFile = isSame && canChange ? join(from.directory, FILES[option]) : "";
  if (existsSync(earlierFile)) {
    onNote(`reusing the rows of the earlier job's ${option}`);
    copy(earlierFile, path);
    return { config: materialized, restoreLocations: unchanged };
  }
  const { format } = objectiveOf(config);
  const local = await localDataset(dataset, { onNote, signal });
  const name = dataset.type === "code" ? option : nameOf(local.path);
  const reading = { name, format, onNote, signal };
  const sourceMap = await materializeDataset(local, code[option] ?? {}, path, reading);
  return { config: materialized, restoreLocations: restoreLocations(path, name, sourceMap) };
}

/** The dataset as `job.json` stores it. */
function asWritten(dataset: DatasetConfig): unknown {
  return JSON.parse(JSON.stringify(dataset));
}

/** Downloads a dataset of the hub, and leaves out files at URLs. */
async function localDataset(
  dataset: DatasetConfig,
  fetching: Pick<MaterializeOptions, "onNote" | "signal">,
): Promise<FileDataset> {
  const { type, path, name = "", config, split, revision, ...options } = dataset;
  const localPath = isRemote(dataset) ? datasetPaths(path).filter((file) => !isUrl(file)) : path;
  if (type !== "hub") return { ...options, type, path: localPath };
  const { fetchDataset } = await import("../hub/fetchDataset.ts");
  const found = await fetchDataset({ name, config, split, revision }, fetching);
  return { ...options, type: found.type, path: found.paths };
}

function copy(from: string, to: string): void {
  try {
    // Shares the disk blocks if the file system can.
    copyFileSync(from, to, fsConstants.COPYFILE_FICLONE);
  } catch (error) {
    throw cannotWrite(`copy ${from} to ${to}`, error);
  }
}
