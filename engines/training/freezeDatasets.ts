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

/** The files in which a job keeps the rows of its datasets. */
const FROZEN = { dataset: "data.jsonl", evalDataset: "evalData.jsonl" } as const;

type Option = keyof typeof FROZEN;

/**
 * Writes the rows of datasets into a job's folder, but for those at URLs, which a cluster's workers read
 * themselves, before the others.
 * @returns also the config that an engine trains by, which reads them there
 * @throws KitError as `materializeDataset`
 */
export async function freezeDatasets<Config extends TrainConfig>(
  config: Config,
  options: MaterializeOptions,
): Promise<MaterializedDatasets<Config>> {
  const dataset = await freeze(config, "dataset", config.dataset, options);
  const { evalDataset } = config;
  const held = evalDataset && (await freeze(config, "evalDataset", evalDataset, options));
  return {
    config: { ...config, dataset: dataset.config, evalDataset: held?.config },
    restoreLocations: (text) => dataset.restoreLocations(held ? held.restoreLocations(text) : text),
  };
}

/** The config of a job whose datasets were written there before. */
export function frozenConfig<Config extends TrainConfig>(
  config: Config,
  directory: string,
): Config {
  const { dataset, evalDataset } = config;
  return {
    ...config,
    dataset: frozenTo(join(directory, FROZEN.dataset), dataset),
    evalDataset: evalDataset && frozenTo(join(directory, FROZEN.evalDataset), evalDataset),
  };
}

/** @returns the dataset itself if all of it is at URLs */
function frozenTo(path: string, dataset: DatasetConfig): DatasetConfig {
  if (!isRemote(dataset)) return { type: "jsonl", path };
  const paths = datasetPaths(dataset.path);
  const urls = paths.filter(isUrl);
  return urls.length === paths.length ? dataset : { type: "jsonl", path: [...urls, path] };
}

async function freeze(
  config: TrainConfig,
  option: Option,
  dataset: DatasetConfig,
  { code, directory, from, onNote, signal }: MaterializeOptions,
): Promise<MaterializedDatasets<DatasetConfig>> {
  const asIs = (text: string) => text;
  const path = join(directory, FROZEN[option]);
  const frozen = frozenTo(path, dataset);
  if (frozen === dataset) return { config: dataset, restoreLocations: asIs };
  // Those of code and of a branch may be others by now.
  const canChange = ["code", "hub"].includes(dataset.type) || dataset.isMapped;
  const isSame = from && isDeepStrictEqual(from.config[option], asWritten(dataset));
  const before = isSame && canChange ? join(from.directory, FROZEN[option]) : "";
  if (existsSync(before)) {
    onNote(`reading the rows that the earlier job's ${option} had`);
    copy(before, path);
    return { config: frozen, restoreLocations: asIs };
  }
  const { form } = objectiveOf(config);
  const found = await located(dataset, { onNote, signal });
  const name = dataset.type === "code" ? option : nameOf(found.path);
  const reading = { name, form, onNote, signal };
  const places = await materializeDataset(found, code[option] ?? {}, path, reading);
  return { config: frozen, restoreLocations: restoreLocations(path, name, places) };
}

/** As `job.json` has it. */
function asWritten(dataset: DatasetConfig): unknown {
  return JSON.parse(JSON.stringify(dataset));
}

/** With the paths of files that had to be downloaded. */
async function located(
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
    // Without a copy where the disk can share them.
    copyFileSync(from, to, fsConstants.COPYFILE_FICLONE);
  } catch (error) {
    throw cannotWrite(`copy ${from} to ${to}`, error);
  }
}
