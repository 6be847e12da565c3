import { existsSync } from "node:fs";
import { join } from "node:path";
import { ARTIFACTS, partialFolder } from "../../protocol/artifactPath.ts";
import type { TrainOptions } from "../../protocol/engine.ts";
import { readToResume } from "../../protocol/error.ts";
import { type TrainConfig, isPretrained } from "../../protocol/trainConfig.ts";
import { assertCheckpoint, saveModel } from "../checkpoint/checkpoint.ts";
import { locateModel } from "../checkpoint/locateModel.ts";
import { datasetFiles } from "../dataset/files.ts";
import type { Dimensions } from "../families/dimensions.ts";
import { randomWeights } from "../families/randomWeights.ts";
import type { FetchOptions } from "../hub/fetchModel.ts";
import { parseHubName } from "../hub/hubName.ts";
import { BASE_DIRECTORY } from "../lora/base.ts";
import { assertRegularFiles } from "../modelFiles/regularFile.ts";
import { writtenDate } from "../tokens/templateDate.ts";
import type { PythonJob } from "./messages.ts";
import { findFolders } from "./model.ts";

type Options = Pick<TrainOptions, "config" | "directory" | "resumeFrom" | "onNote"> &
  Pick<FetchOptions, "signal" | "check">;

/**
 * Checks everything that needs no Python, downloads a model from the hub, and writes an untrained model's
 * random weights, which are the same for every engine.
 * @throws KitError for a model that can't be trained
 */
export async function createJob({
  config,
  directory,
  resumeFrom,
  signal,
  onNote,
  check,
}: Options): Promise<PythonJob> {
  const files = datasetFiles(config.dataset.path);
  const evalFiles = config.evalDataset && datasetFiles(config.evalDataset.path);
  const fetchOptions = { signal, onNote, ...(check && { check }) };
  const source = await locateModel(config.model, { resumeFrom, ...fetchOptions });
  if (source.kind === "checkpoint") assertCheckpoint(source.directory);
  // A cluster's checkpoint may exist only there.
  if (resumeFrom !== undefined && existsSync(resumeFrom)) {
    readToResume(() => assertRegularFiles(resumeFrom));
  }
  const job = {
    config,
    directory,
    files,
    evalFiles,
    resumeFrom,
    date: writtenDate(new Date()),
    modelName: source.name,
    isPretrained: isPretrained(config.model),
  };
  if (source.kind === "untrained") {
    return { ...job, model: { base: writeWeights(source.dimensions, config, directory) } };
  }
  const { repo = "" } = parseHubName(source.name) ?? {};
  const hub = source.commit === undefined ? undefined : { repo, commit: source.commit };
  return { ...job, model: await findFolders(source.directory, fetchOptions), hub };
}

/** Writes random weights: with LoRA as the base, which stays; otherwise to a folder that `removePartial` deletes. */
function writeWeights(shape: Dimensions, { lora, seed }: TrainConfig, directory: string): string {
  const folder = lora ? BASE_DIRECTORY : partialFolder("start");
  const path = join(directory, ARTIFACTS, folder);
  const exists = existsSync(join(path, "config.json"));
  if (!exists) saveModel(path, randomWeights(shape, seed), { shape, promptStyle: "message" });
  return path;
}
