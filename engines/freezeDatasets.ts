import { copyFileSync, constants as fsConstants, existsSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { cannotWrite } from "../protocol/cannotWrite.ts";
import {
  type DatasetConfig,
  type FreezeJobOptions,
  type Frozen,
  isRemote,
} from "../protocol/dataset.ts";
import type { TrainConfig } from "../protocol/trainConfig.ts";
import { type FileDataset, freezeDataset } from "./dataset/freeze.ts";
import { inPlaces } from "./dataset/places.ts";
import { nameOf } from "./dataset/rows.ts";
import { objectiveOf } from "./objectives/objectives.ts";

/** The files in which a job keeps the rows of its datasets. */
const FROZEN = { dataset: "data.jsonl", evalDataset: "evalData.jsonl" } as const;

type Option = keyof typeof FROZEN;

/**
 * Writes the rows of datasets into a job's folder, but for those that a cluster's workers read themselves.
 * @returns also the config that an engine trains by, which reads them there
 * @throws KitError as `freezeDataset`
 */
export async function freezeDatasets<Config extends TrainConfig>(
  config: Config,
  options: FreezeJobOptions,
): Promise<Frozen<Config>> {
  const dataset = await freeze(config, "dataset", config.dataset, options);
  const { evalDataset } = config;
  const held = evalDataset && (await freeze(config, "evalDataset", evalDataset, options));
  return {
    config: { ...config, dataset: dataset.config, evalDataset: held?.config },
    inPlaces: (text) => dataset.inPlaces(held ? held.inPlaces(text) : text),
  };
}

/** The config of a job whose datasets were written there before. */
export function frozenConfig<Config extends TrainConfig>(
  config: Config,
  directory: string,
): Config {
  const frozen = (option: Option, dataset: DatasetConfig): DatasetConfig => {
    const path = join(directory, FROZEN[option]);
    // Jobs of earlier versions of Kit read JSONL as it was.
    const isThere = existsSync(path) || dataset.type !== "jsonl";
    return isThere && !isRemote(dataset) ? { type: "jsonl", path } : dataset;
  };
  const { dataset, evalDataset } = config;
  return {
    ...config,
    dataset: frozen("dataset", dataset),
    evalDataset: evalDataset && frozen("evalDataset", evalDataset),
  };
}

async function freeze(
  config: TrainConfig,
  option: Option,
  dataset: DatasetConfig,
  { code, directory, from, onNote, signal }: FreezeJobOptions,
): Promise<Frozen<DatasetConfig>> {
  const asIs = (text: string) => text;
  if (isRemote(dataset)) return { config: dataset, inPlaces: asIs };
  const path = join(directory, FROZEN[option]);
  // Those of code and of a branch may be others by now.
  const canChange = ["code", "hub"].includes(dataset.type) || dataset.isMapped;
  const isSame = from && isDeepStrictEqual(from.config[option], asWritten(dataset));
  const before = isSame && canChange ? join(from.directory, FROZEN[option]) : "";
  const frozen = { type: "jsonl", path } as const;
  if (existsSync(before)) {
    onNote(`reading the rows that the earlier job's ${option} had`);
    copy(before, path);
    return { config: frozen, inPlaces: asIs };
  }
  const { form } = objectiveOf(config);
  const found = await located(dataset, { onNote, signal });
  const name = dataset.type === "code" ? option : nameOf(found.path);
  const reading = { name, form, onNote, signal };
  const places = await freezeDataset(found, code[option] ?? {}, path, reading);
  return { config: frozen, inPlaces: inPlaces(path, name, places) };
}

/** As `job.json` has it. */
function asWritten(dataset: DatasetConfig): unknown {
  return JSON.parse(JSON.stringify(dataset));
}

/** With the paths of files that had to be downloaded. */
async function located(
  dataset: DatasetConfig,
  options: Pick<FreezeJobOptions, "onNote" | "signal">,
): Promise<FileDataset> {
  const { type, path, name = "", config, split, revision, ...how } = dataset;
  if (type !== "hub") return { ...how, type, path };
  const { fetchDataset } = await import("./hub/fetchDataset.ts");
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
