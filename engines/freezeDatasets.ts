import { copyFileSync, constants as fsConstants, existsSync } from "node:fs";
import { join } from "node:path";
import { cannotWrite } from "../protocol/cannotWrite.ts";
import { type DatasetConfig, type FreezeJobOptions, isReady } from "../protocol/dataset.ts";
import type { TrainConfig } from "../protocol/trainConfig.ts";
import { freezeDataset } from "./dataset/freeze.ts";
import { objectiveOf } from "./objectives/objectives.ts";

/** The files in which a job keeps the rows of its datasets. */
const FROZEN = { dataset: "data.jsonl", evalDataset: "evalData.jsonl" } as const;

type Option = keyof typeof FROZEN;

/**
 * Writes the rows of datasets that are not JSONL with rows of Kit's own into a job's folder.
 * @returns the config that an engine trains by, which reads them there
 * @throws KitError as `freezeDataset`
 */
export async function freezeDatasets<Config extends TrainConfig>(
  config: Config,
  options: FreezeJobOptions,
): Promise<Config> {
  const dataset = await freeze(config, "dataset", config.dataset, options);
  const { evalDataset } = config;
  const frozen = evalDataset && (await freeze(config, "evalDataset", evalDataset, options));
  return { ...config, dataset, evalDataset: frozen };
}

async function freeze(
  config: TrainConfig,
  option: Option,
  dataset: DatasetConfig,
  { code, directory, from, onNote, signal }: FreezeJobOptions,
): Promise<DatasetConfig> {
  if (isReady(dataset)) return dataset;
  const path = join(directory, FROZEN[option]);
  const isOfCode = dataset.type === "code" || dataset.isMapped;
  const before = from !== undefined && isOfCode ? join(from, FROZEN[option]) : "";
  if (existsSync(before)) {
    onNote(`reading the rows that the earlier job's ${option} had`);
    copy(before, path);
  } else {
    const { form } = objectiveOf(config);
    await freezeDataset(dataset, code[option] ?? {}, path, { name: option, form, onNote, signal });
  }
  return { type: "jsonl", path };
}

function copy(from: string, to: string): void {
  try {
    // Without a copy where the disk can share them.
    copyFileSync(from, to, fsConstants.COPYFILE_FICLONE);
  } catch (error) {
    throw cannotWrite(`copy ${from} to ${to}`, error);
  }
}
