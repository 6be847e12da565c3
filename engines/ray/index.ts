import type { Engine } from "../../protocol/engine.ts";
import type { RayOptions } from "../../protocol/rayOptions.ts";
import { createPythonEngine } from "../python/index.ts";
import { createCluster } from "./cluster.ts";
import { prepare } from "./prepare.ts";

/**
 * The Ray engine: the Python engine's training on a cluster. A saved model answers on this machine, by
 * the Python here.
 */
export function createRayEngine(options: RayOptions = {}): Engine {
  const cluster = createCluster(options);
  const { load, resumeFiles = [] } = createPythonEngine();
  // Each part is loaded when it is needed: a project is loaded more often than it trains.
  return {
    name: "ray",
    // The second name is Ray's first worker's, in a group.
    resumeFiles: [...resumeFiles, "rng_state_0.pth"],
    prepare: (asked) => prepare(asked, cluster),
    check: async (asked) => (await import("./check.ts")).check(cluster, asked),
    train: async (asked) => (await import("./train.ts")).train(cluster, asked),
    elsewhere: {
      reach: async (placement, id) =>
        (await import("./elsewhere.ts")).reach(cluster, placement, id),
      follow: async (asked) => (await import("./elsewhere.ts")).followPlaced(cluster, asked),
    },
    load,
  };
}
