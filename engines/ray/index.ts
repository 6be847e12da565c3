import type { Engine, FetchOptions } from "../../protocol/engine.ts";
import type { RayOptions } from "../../protocol/engineOptions.ts";
import { KitError } from "../../protocol/error.ts";
import { problemOfBatch } from "../../protocol/objective.ts";
import type { TrainingOptions, TrainConfig } from "../../protocol/trainConfig.ts";
import { checkUrls } from "../dataset/files.ts";
import { createPythonEngine } from "../python/index.ts";
import { prepareWithUrls } from "../python/prepare.ts";
import { type Cluster, createCluster, configuredAddress } from "./cluster.ts";

/**
 * The Ray engine: trains as the Python engine does, on a cluster. A saved model answers on this machine's Python, or on
 * the cluster if its files or Python are missing here.
 */
export function createRayEngine(options: RayOptions = {}): Engine {
  const cluster = createCluster(options);
  const python = createPythonEngine();
  // With several workers, the first one's random state is in rng_state_0.pth.
  const resumeFiles = [...(python.resumeFiles ?? []), "rng_state_0.pth"];
  const fetch = async (options: FetchOptions) =>
    (await import("./remoteTraining.ts")).downloadFromCluster(cluster, resumeFiles, options);
  // Lazy imports: a project is loaded more often than it trains.
  return {
    name: "ray",
    objectives: python.objectives ?? [],
    resumeFiles,
    prepare: (options) => prepare(options, cluster),
    check: async (options) => (await import("./check.ts")).check(cluster, options),
    train: async (options) => (await import("./remoteTraining.ts")).train(cluster, options),
    remote: {
      reach: async (location, id) =>
        (await import("./remoteTraining.ts")).reach(cluster, location, id),
      follow: async (options) =>
        (await import("./remoteTraining.ts")).followRemote(cluster, options),
      fetch,
    },
    load: async (directory, options) =>
      (await import("./remoteModel.ts")).load(cluster, {
        directory,
        loadHere: python.load,
        options,
      }),
  };
}

/**
 * As the Python engine's `prepare`, with the cluster's settings. Doesn't contact the cluster.
 * @throws KitError as the Python engine; `CONFIG_INVALID` for a batch that can't be split among the workers, or a
 * dataset's URL that they can't read
 */
function prepare(options: TrainingOptions, cluster: Cluster): TrainConfig {
  const { workers, cpusPerWorker, gpusPerWorker, storage } = cluster;
  checkUrls(options);
  const config = prepareWithUrls(options, {});
  if (config.batchSize % workers !== 0) {
    throw new KitError(
      "CONFIG_INVALID",
      `"batchSize" must be a multiple of ray's ${workers} workers, which share each batch, but is ${config.batchSize}.`,
    );
  }
  const problem = problemOfBatch(config.objective, config.batchSize, workers);
  if (problem !== undefined) throw new KitError("CONFIG_INVALID", problem);
  const address = configuredAddress(cluster);
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
