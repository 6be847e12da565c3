import type { IncomingMessage, ServerResponse } from "node:http";
import type { JobStore } from "../jobs/store.ts";
import type { ManifestReader } from "./manifest.ts";
import type { Runner } from "./run.ts";

/** What the routes work with. */
export interface ServerContext {
  jobs: JobStore;
  manifests: ManifestReader;
  runner: Runner;
}

export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

export type Route = (context: ServerContext, exchange: Exchange) => void | Promise<void>;
