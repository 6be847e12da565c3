import type { IncomingMessage, ServerResponse } from "node:http";
import type { JobStore } from "../jobs/store.ts";
import type { Runner } from "./run.ts";

/** What the routes work with. */
export interface ServerContext {
  /** Absolute path of the project. */
  project: string;
  /** How to call the `kit` command: a program and its first arguments. */
  kit: string[];
  jobs: JobStore;
  runner: Runner;
}

export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

export type Route = (context: ServerContext, exchange: Exchange) => void | Promise<void>;
