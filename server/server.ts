import { createServer } from "node:http";
import { createJobStore } from "../jobs/store.ts";
import { messageOf } from "../protocol/error.ts";
import { loadAssets } from "./assets.ts";
import type { ServerContext } from "./context.ts";
import { type ListenOptions, listen } from "./listen.ts";
import { createManifestReader } from "./manifest.ts";
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
  /** How long loading the project may take. Default 30 s. */
  manifestLimitMs?: number;
  /** How long a run may take to end once it was asked to. Default 10 s. */
  graceMs?: number;
}

export interface UiServer {
  port: number;
  /** Ends the run in flight and all connections. Idempotent. */
  close: () => Promise<void>;
}

/** Starts the backend of `kit ui`; it resolves when it answers. */
export async function startUiServer(options: UiServerOptions): Promise<UiServer> {
  const { project, kit, page, manifestLimitMs: limitMs, graceMs } = options;
  const jobs = createJobStore(project);
  const manifests = createManifestReader({ project, kit, limitMs });
  const runner = createRunner({ project, kit, graceMs });
  const context: ServerContext = { jobs, manifests, runner };
  const assets = loadAssets(page);
  const server = createServer((request, response) => {
    route(context, assets, { request, response }).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendError(response, 500, messageOf(error));
    });
  });
  const port = await listen(server, options);

  async function end(): Promise<void> {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    manifests.close();
    // Who is connected sees how the run ends.
    await runner.close();
    server.closeAllConnections();
    await closed;
  }

  let closing: Promise<void> | undefined;
  return {
    port,
    close() {
      closing ??= end();
      return closing;
    },
  };
}
