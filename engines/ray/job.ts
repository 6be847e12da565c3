import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { DatasetConfig } from "../../protocol/dataset.ts";
import { KitError } from "../../protocol/error.ts";
import { isUrl } from "../../protocol/url.ts";
import { datasetFiles } from "../dataset/files.ts";
import { createJob as createPythonJob } from "../python/job.ts";
import type { PythonJob } from "../python/messages.ts";

/**
 * The Python engine's job. What only the workers see is named by a URL, and read by them.
 * @throws KitError as the Python engine's; `DATASET_UNREADABLE` for a path that is not on this machine
 */
export async function createJob(options: Parameters<typeof createPythonJob>[0]) {
  const { dataset, evalDataset } = options.config;
  for (const one of [dataset, evalDataset]) if (one) assertHere(one);
  const job = await createPythonJob(options);
  assertWholeBase(job);
  return job;
}

function assertHere({ path }: DatasetConfig): void {
  const missing = datasetFiles(path).find((file) => !isUrl(file) && !existsSync(file));
  if (missing === undefined) return;
  throw new KitError(
    "DATASET_UNREADABLE",
    `Cannot read the dataset ${missing}: there is no such file on this machine. Check its path, which is relative to the project; if only the workers see it, name it as ${pathToFileURL(missing).href}.`,
  );
}

/** @throws KitError `CONFIG_INVALID` for an adapter to an adapter, whose merged base would stay there */
function assertWholeBase({ config, model }: PythonJob): void {
  if (!config.lora || model.adapter === undefined) return;
  throw new KitError(
    "CONFIG_INVALID",
    `${model.adapter} is an adapter, and ray trains no adapter of one. Use a whole model, or engine: python().`,
  );
}
