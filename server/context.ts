import type { JobStore } from "../jobs/store.ts";
import type { StreamLimit } from "./http/limits.ts";
import type { Route as HttpRoute } from "./http/router.ts";
import type { ManifestReader } from "./manifestReader.ts";
import type { Runner } from "./run/runner.ts";

/** The parts of the server that routes use. */
export interface ServerContext {
  jobs: JobStore;
  manifests: ManifestReader;
  runner: Runner;
  admitStream: StreamLimit;
}

export type Route = HttpRoute<ServerContext>;
