import type { Engine, FetchOptions } from "../../protocol/engine.ts";
import type { RayOptions } from "../../protocol/engineOptions.ts";
import { KitError } from "../../protocol/error.ts";
import { problemOfBatch } from "../../protocol/objective.ts";
import type { TrainingOptions, TrainConfig } from "../../protocol/trainConfig.ts";
import { checkUrls } from "../dataset/files.ts";
import { createPythonEngine } from "../python/index.ts";
import { prepareAnywhere } from "../python/prepare.ts";
import { type Cluster, createCluster, namedAddress } from "./cluster.ts";

/**
 * The Ray engine: the Python engine's training on a cluster. A saved model answers on this machine, by
 * the Python here; on the cluster, if its files or Python are missing here.
 */
export function createRayEngine(options: RayOptions = {}): Engine {
  const cluster = createCluster(options);
  const python = createPythonEngine();
  // The second name is Ray's first worker's, in a group.
  const resumeFiles = [...(python.resumeFiles ?? []), "rng_state_0.pth"];
  const fetch = async (asked: FetchOptions) =>
    (await import("./remoteTraining.ts")).downloadFromCluster(cluster, resumeFiles, asked);
  // Lazy imports: a project is loaded more often than it trains.
  return {
    name: "ray",
    objectives: python.objectives ?? [],
    resumeFiles,
    prepare: (asked) => prepare(asked, cluster),
    check: async (asked) => (await import("./check.ts")).check(cluster, asked),
    train: async (asked) => (await import("./remoteTraining.ts")).train(cluster, asked),
    remote: {
      reach: async (location, id) =>
        (await import("./remoteTraining.ts")).reach(cluster, location, id),
      follow: async (asked) => (await import("./remoteTraining.ts")).followRemote(cluster, asked),
      fetch,
    },
    load: async (directory, asked) =>
      (await import("./remoteModel.ts")).load(cluster, {
        directory,
        loadHere: python.load,
        options: asked,
      }),
  };
}

/**
 * As the Python engine, and how the training is spread. Asks the cluster nothing.
 * @throws KitError as the Python engine; `CONFIG_INVALID` for a batch that the workers cannot share, or
 * a dataset's URL that they cannot read
 */
function prepare(asked: TrainingOptions, cluster: Cluster): TrainConfig {
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
    workers,
    cpusPerWorker,
    gpusPerWorker,
    ...(storage !== undefined && { storage }),
  };
  return { ...config, engine: settings };
}
