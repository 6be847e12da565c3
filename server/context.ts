import type { IncomingMessage, ServerResponse } from "node:http";
import type { JobStore } from "../jobs/store.ts";
import type { StreamLimit } from "./http/limits.ts";
import type { ManifestReader } from "./manifestReader.ts";
import type { Runner } from "./run/runner.ts";

/** The parts of the server that routes use. */
export interface ServerContext {
  jobs: JobStore;
  manifests: ManifestReader;
  runner: Runner;
  admitStream: StreamLimit;
}

export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/** Answers a request. `id` is the path's segment in place of `{id}`, empty where there is none. */
export type Route = (
  context: ServerContext,
  exchange: Exchange,
  id: string,
) => void | Promise<void>;
