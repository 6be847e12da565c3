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

/** A job's files with the rows of its datasets. */
const FILES = { dataset: "data.jsonl", evalDataset: "evalData.jsonl" } as const;

type Option = keyof typeof FILES;

/**
 * Writes a training run's datasets into the job's folder. Datasets at URLs are left to a cluster's workers, which read
 * them before the others.
 * @returns the config with these files, and a function that restores locations in messages
 * @throws KitError as `materializeDataset`
 */
export async function materializeDatasets<Config extends TrainConfig>(
  config: Config,
  options: MaterializeOptions,
): Promise<MaterializedDatasets<Config>> {
  const dataset = await materialize(config, "dataset", config.dataset, options);
  const { evalDataset } = config;
  const held = evalDataset && (await materialize(config, "evalDataset", evalDataset, options));
  return {
    config: { ...config, dataset: dataset.config, evalDataset: held?.config },
    restoreLocations: (text) => dataset.restoreLocations(held ? held.restoreLocations(text) : text),
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
  const asIs = (text: string) => text;
  const path = join(directory, FILES[option]);
  const materialized = materializedAt(path, dataset);
  if (materialized === dataset) return { config: dataset, restoreLocations: asIs };
  // Code or a branch of the hub may give other rows by now.
  const canChange = ["code", "hub"].includes(dataset.type) || dataset.isMapped;
  const isSame = from && isDeepStrictEqual(from.config[option], asWritten(dataset));
  const before = isSame && canChange ? join(from.directory, FILES[option]) : "";
  if (existsSync(before)) {
    onNote(`reading the rows that the earlier job's ${option} had`);
    copy(before, path);
    return { config: materialized, restoreLocations: asIs };
  }
  const { format: form } = objectiveOf(config);
  const found = await localDataset(dataset, { onNote, signal });
  const name = dataset.type === "code" ? option : nameOf(found.path);
  const reading = { name, format: form, onNote, signal };
  const sourceMap = await materializeDataset(found, code[option] ?? {}, path, reading);
  return { config: materialized, restoreLocations: restoreLocations(path, name, sourceMap) };
}

/** As in `job.json`. */
function asWritten(dataset: DatasetConfig): unknown {
  return JSON.parse(JSON.stringify(dataset));
}

/** The dataset with local paths, after downloading. */
async function localDataset(
  dataset: DatasetConfig,
  options: Pick<MaterializeOptions, "onNote" | "signal">,
): Promise<FileDataset> {
  const { type, path, name = "", config, split, revision, ...how } = dataset;
  const here = isRemote(dataset) ? datasetPaths(path).filter((one) => !isUrl(one)) : path;
  if (type !== "hub") return { ...how, type, path: here };
  const { fetchDataset } = await import("../hub/fetchDataset.ts");
  const found = await fetchDataset({ name, config, split, revision }, options);
  return { ...how, type: found.type, path: found.paths };
}

function copy(from: string, to: string): void {
  try {
    // Shares the blocks if the file system can.
    copyFileSync(from, to, fsConstants.COPYFILE_FICLONE);
  } catch (error) {
    throw cannotWrite(`copy ${from} to ${to}`, error);
  }
}
