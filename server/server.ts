import type { IncomingMessage, ServerResponse } from "node:http";
import { basename } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Owner } from "../disk/owner.ts";
import { createFollowers, watchDetachedJobs } from "../jobs/remote/followers.ts";
import { createJobStore } from "../jobs/store.ts";
import { isRunEnd } from "../protocol/http.ts";
import { loadAssets } from "./assets.ts";
import type { ServerContext } from "./context.ts";
import { type Limits, LIMITS, createStreamLimit } from "./http/limits.ts";
import { type ListenOptions, listen } from "./http/listen.ts";
import { type ServerIdentity, sendError } from "./http/respond.ts";
import { createRouter } from "./http/router.ts";
import { createHttpServer } from "./http/server.ts";
import { cancelJobOf, requestCancelOf } from "./jobs/killedJob.ts";
import { createManifestReader } from "./manifestReader.ts";
import { ROUTE_TABLE } from "./routeTable.ts";
import { withColour } from "./run/colour.ts";
import { outputPath } from "./run/output.ts";
import { createRunner } from "./run/runner.ts";
import { createTokenAuth } from "./token.ts";

/** No route reads a body; this much is accepted, for clients that send an empty object. */
const MAX_BODY_BYTES = 64 * 1024;

const IDENTITY: ServerIdentity = { advice: "Open the page at /.", command: "kit ui", page: "/" };

const DRAIN_MS = 1_000;
const OWNERS_FRESH_MS = 100;

export interface UiServerOptions extends ListenOptions {
  /** Absolute path of the project. */
  project: string;
  /** The `kit` command: a program and its first arguments. */
  kit: string[];
  /** Absolute path of the built page. */
  page: string;
  /** Accepted host names besides this machine's own. */
  allowedHosts?: string[];
  /** Access token. Omit to turn authentication off. */
  token?: string;
  /** How long loading the project may take. Default 30 s. */
  manifestLimitMs?: number;
  /** How long a run or a follower may take to end before it is killed. Default 7 s and 5 s. */
  graceMs?: number;
  /** How long clients may take to read the run's end before the server closes. Default 1 s. */
  drainMs?: number;
  /** Called with notes on remote jobs. */
  onNote?: (text: string) => void;
  /** How often to look for jobs that no process follows. Default 5 s. */
  pollMs?: number;
  /** How long a check of a job's owner is cached. Default 100 ms. */
  ownersFreshMs?: number;
  /** Overrides {@link LIMITS}. For tests. */
  limits?: Partial<Limits>;
}

export interface UiServer {
  port: number;
  /** Ends the current run, unless its job runs remotely, and closes all connections. Idempotent. */
  close: () => Promise<void>;
  /** Makes `close` kill the run at once. */
  kill: () => void;
}

/** Starts the backend of `kit ui`. Resolves when it answers requests. */
export async function startUiServer(options: UiServerOptions): Promise<UiServer> {
  const { project, kit, page, manifestLimitMs: limitMs, graceMs, pollMs } = options;
  const { onNote = () => {}, ownersFreshMs = OWNERS_FRESH_MS } = options;
  const { drainMs = DRAIN_MS } = options;
  const jobs = createJobStore(project, { ownersFreshMs });
  const manifests = createManifestReader({ project, kit, limitMs });
  const onGone = (owner: Owner) => cancelJobOf(owner, jobs);
  const lastRun = {
    detachedJob: () => runner.detachedJob(),
    output: { path: outputPath(project), env: withColour(process.env) },
  };
  const followers = createFollowers({ project, kit, jobs, lastRun, onNote, pollMs, graceMs });
  const isFollowed = followers.isFollowing;
  const endOfJob = (id: string) => {
    const status = jobs.get(id)?.job.status;
    return isRunEnd(status) ? status : undefined;
  };
  const onEnding = () =>
    onNote("stopping the run, which keeps its checkpoints; press Ctrl-C again to stop now");
  const runner = createRunner({
    project,
    kit,
    graceMs,
    requestEnd: (owner) => requestCancelOf(owner, jobs),
    onEnding,
    onGone,
    isFollowed,
    endOfJob,
  });
  const context: ServerContext = {
    jobs,
    manifests,
    runner,
    admitStream: createStreamLimit({ ...LIMITS, ...options.limits }),
  };
  const { token, host, allowedHosts, limits } = options;
  const route = createRouter(ROUTE_TABLE, IDENTITY, loadAssets(page, basename(project)));
  const { server, allAnswered } = createHttpServer({
    identity: IDENTITY,
    host,
    allowedHosts,
    limits,
    auth: token === undefined ? undefined : (trust) => createTokenAuth(token, trust),
    async answer(exchange) {
      if (discardBody(exchange.request, exchange.response)) await route(context, exchange);
    },
  });
  const listening = await listen(server, options);
  followers.start();

  async function end(): Promise<void> {
    manifests.close();
    const detachedJobs = watchDetachedJobs(project, jobs);
    // Clients that follow a killed run's job get its end from the log, not from its owner's death.
    jobs.freezeOwners(true);
    const [hadRun] = await Promise.all([runner.close(), followers.close()]).finally(() =>
      jobs.freezeOwners(false),
    );
    for (const line of detachedJobs()) onNote(line);
    // Keep serving until clients have seen the run's end.
    if (hadRun) {
      await Promise.race([allAnswered(), delay(drainMs, undefined, { ref: false })]);
    }
    await listening.close();
  }

  let closing: Promise<void> | undefined;
  return {
    port: listening.port,
    close() {
      closing ??= end();
      return closing;
    },
    kill: () => runner.force(),
  };
}

/** Discards the body. Answers 413 to one that is long or of undeclared length. */
function discardBody(request: IncomingMessage, response: ServerResponse): boolean {
  const { headers } = request;
  // A client that is cut off while it sends would not see the response.
  request.resume();
  const length = Number(headers["content-length"] ?? 0);
  if (length <= MAX_BODY_BYTES && headers["transfer-encoding"] === undefined) return true;
  sendError(response, 413, "Send no body; no route reads one.");
  return false;
}
