import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { Owner } from "../disk/owner.ts";
import { createFollowers, watchLeftJobs } from "../jobs/remote/followers.ts";
import { createJobStore } from "../jobs/store.ts";
import { isRunEnd } from "../protocol/http.ts";
import { loadAssets } from "./assets.ts";
import type { ServerContext } from "./context.ts";
import { type Limits, LIMITS, createStreamLimit } from "./http/limits.ts";
import { type ListenOptions, listen } from "./http/listen.ts";
import { type Site, sendError } from "./http/respond.ts";
import { createRouter } from "./http/router.ts";
import { createHttpServer } from "./http/server.ts";
import { cancelJobOf } from "./jobs/killedJob.ts";
import { createManifestReader } from "./manifestReader.ts";
import { ROUTE_TABLE } from "./routeTable.ts";
import { inColour } from "./run/colour.ts";
import { outputPath } from "./run/output.ts";
import { createRunner } from "./run/runner.ts";
import { createTokenGate } from "./token.ts";

/** No route reads a body. This much is accepted, for clients that send an empty object. */
const MOST_BYTES = 64 * 1024;

const SITE: Site = { advice: "Open the page at /.", command: "kit ui", page: "/" };

const LAST_WORDS_MS = 1_000;
const OWNERS_FRESH_MS = 100;

export interface UiServerOptions extends ListenOptions {
  /** Absolute path of the project. */
  project: string;
  /** The `kit` command: a program and its first arguments. */
  kit: string[];
  /** Absolute path of the built page. */
  page: string;
  /** Host names to answer to, besides those of this machine. */
  allowedHosts?: string[];
  /** Access token. Omit to turn authentication off. */
  token?: string;
  /** How long loading the project may take. Default 30 s. */
  manifestLimitMs?: number;
  /** How long a run or a follower may take to end before it is killed. Default 7 s and 5 s. */
  graceMs?: number;
  /** How long clients may take to read how the run ended, before the server closes. Default 1 s. */
  lastWordsMs?: number;
  /** Takes a line for people on a job that runs on other machines. */
  onNote?: (text: string) => void;
  /** How often to look for jobs that nobody follows. Default 5 s. */
  lookMs?: number;
  /** How long a check of a job's owner counts, for all clients. Default 100 ms. */
  ownersFreshMs?: number;
  /** Overrides {@link LIMITS}. For tests. */
  limits?: Partial<Limits>;
}

export interface UiServer {
  port: number;
  /** Ends the run in flight, unless its job goes on remotely, and all connections. Idempotent. */
  close: () => Promise<void>;
  /** Has `close` kill the run that it waits for. */
  cut: () => void;
}

/** Starts the backend of `kit ui`. Resolves when it answers requests. */
export async function startUiServer(options: UiServerOptions): Promise<UiServer> {
  const { project, kit, page, manifestLimitMs: limitMs, graceMs, lookMs } = options;
  const { onNote = () => {}, ownersFreshMs = OWNERS_FRESH_MS } = options;
  const { lastWordsMs = LAST_WORDS_MS } = options;
  const jobs = createJobStore(project, { ownersFreshMs });
  const manifests = createManifestReader({ project, kit, limitMs });
  const onGone = (owner: Owner) => cancelJobOf(owner, jobs);
  const lastRun = {
    leftJob: () => runner.leftJob(),
    output: { path: outputPath(project), env: inColour(process.env) },
  };
  const followers = createFollowers({ project, kit, jobs, lastRun, onNote, lookMs, graceMs });
  const isFollowed = followers.isFollowing;
  const endOfJob = (id: string) => {
    const status = jobs.get(id)?.job.status;
    return isRunEnd(status) ? status : undefined;
  };
  const onEnding = () =>
    onNote("ending the run, which keeps its checkpoints; again Ctrl-C ends it now");
  const runner = createRunner({
    ...{ project, kit, graceMs, onEnding, onGone, isFollowed, endOfJob },
  });
  const context: ServerContext = {
    jobs,
    manifests,
    runner,
    admitStream: createStreamLimit({ ...LIMITS, ...options.limits }),
  };
  const { token, host, allowedHosts, limits } = options;
  const route = createRouter(ROUTE_TABLE, SITE, loadAssets(page));
  const { server, allAnswered } = createHttpServer({
    ...{ site: SITE, host, allowedHosts, limits },
    gate: token === undefined ? undefined : (trust) => createTokenGate(token, trust),
    async answer(exchange) {
      if (discardBody(exchange.request, exchange.response)) await route(context, exchange);
    },
  });
  const listening = await listen(server, options);
  followers.start();

  async function end(): Promise<void> {
    manifests.close();
    const leftJobs = watchLeftJobs(project, jobs);
    // Clients that follow the job of a killed run get the end from its log, not a guess made before.
    jobs.freezeOwners(true);
    const [hadRun] = await Promise.all([runner.close(), followers.close()]).finally(() =>
      jobs.freezeOwners(false),
    );
    for (const line of leftJobs()) onNote(line);
    // Keeps answering meanwhile, so that clients see how the run ends.
    if (hadRun) {
      await Promise.race([allAnswered(), delay(lastWordsMs, undefined, { ref: false })]);
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
    cut: () => runner.cut(),
  };
}

/** Discards the body. Answers 413 to one that is long or does not declare its length. */
function discardBody(request: IncomingMessage, response: ServerResponse): boolean {
  const { headers } = request;
  // A client that is cut off while it sends would not see the answer.
  request.resume();
  const length = Number(headers["content-length"] ?? 0);
  if (length <= MOST_BYTES && headers["transfer-encoding"] === undefined) return true;
  sendError(response, 413, "Send no body; no route reads one.");
  return false;
}
