import { KitError } from "../../protocol/error.ts";
import { problemOfBatch } from "../../protocol/objective.ts";
import type { AskedConfig, TrainConfig } from "../../protocol/trainConfig.ts";
import { checkUrls } from "../dataset/files.ts";
import { prepareAnywhere } from "../python/prepare.ts";
import { type Cluster, namedAddress } from "./cluster.ts";

/**
 * As the Python engine, and how the training is spread. Asks the cluster nothing.
 * @throws KitError as the Python engine; `CONFIG_INVALID` for a batch that the workers cannot share, or
 * a dataset's URL that they cannot read
 */
export function prepare(asked: AskedConfig, cluster: Cluster): TrainConfig {
  const { workers, cpusPerWorker, gpusPerWorker, storage } = cluster;
  checkUrls(asked);
  const config = prepareAnywhere(asked, {});
  if (config.batchSize % workers !== 0) {
    throw new KitError(
      "CONFIG_INVALID",
      `"batchSize" must be a multiple of ray's ${workers} workers, which share each batch, but is ${config.batchSize}.`,
    );
  }
  const problem = problemOfBatch(config.objective, config.batchSize, workers);
  if (problem !== undefined) throw new KitError("CONFIG_INVALID", problem);
  const address = namedAddress(cluster);
  const settings = {
    name: "ray",
    ...(address !== undefined && { address }),
    ...{ workers, cpusPerWorker, gpusPerWorker },
    ...(storage !== undefined && { storage }),
  };
  return { ...config, engine: settings };
}
