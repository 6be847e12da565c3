import type { Engine, FetchOptions } from "../../protocol/engine.ts";
import type { RayOptions } from "../../protocol/engineOptions.ts";
import { createPythonEngine } from "../python/index.ts";
import { createCluster } from "./cluster.ts";
import { prepare } from "./prepare.ts";

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
  // Each part is loaded when it is needed: a project is loaded more often than it trains.
  return {
    name: "ray",
    objectives: python.objectives ?? [],
    resumeFiles,
    prepare: (asked) => prepare(asked, cluster),
    check: async (asked) => (await import("./check.ts")).check(cluster, asked),
    train: async (asked) => (await import("./train.ts")).train(cluster, asked),
    remote: {
      reach: async (location, id) =>
        (await import("./remoteTraining.ts")).reach(cluster, location, id),
      follow: async (asked) => (await import("./remoteTraining.ts")).followRemote(cluster, asked),
      fetch,
    },
    load: async (directory, asked) =>
      (await import("./load.ts")).load(cluster, {
        directory,
        loadHere: python.load,
        options: asked,
      }),
  };
}
