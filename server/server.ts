import { type Server, createServer } from "node:http";
import { createJobStore } from "../jobs/store.ts";
import { messageOf } from "../protocol/error.ts";
import { loadAssets } from "./assets.ts";
import type { ServerContext } from "./context.ts";
import { type ListenOptions, listen } from "./listen.ts";
import { sendError } from "./respond.ts";
import { route } from "./router.ts";
import { createRunner } from "./run.ts";

export interface UiServerOptions extends ListenOptions {
  /** Absolute path of the project. */
  project: string;
  /** How to call the `kit` command: a program and its first arguments. */
  kit: string[];
  /** Absolute path of the built page. */
  page: string;
}

export interface UiServer {
  port: number;
  /** Ends the run in flight and all connections. Idempotent. */
  close: () => Promise<void>;
}

/** Starts the backend of `kit ui`; it resolves when it answers. */
export async function startUiServer(options: UiServerOptions): Promise<UiServer> {
  const { project, kit, page } = options;
  const runner = createRunner({ project, kit });
  const context: ServerContext = { project, kit, jobs: createJobStore(project), runner };
  const assets = loadAssets(page);
  const server = createServer((request, response) => {
    route(context, assets, { request, response }).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendError(response, 500, messageOf(error));
    });
  });
  const port = await listen(server, options);
  let closing: Promise<void> | undefined;
  return {
    port,
    close() {
      closing ??= runner.close().then(() => closeServer(server));
      return closing;
    },
  };
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
