import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  createServer,
} from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { blobId, etagOf, isLarge, refuse, sendInfo, sendRange, sendTree } from "./answers.ts";
import { bodyOf, createWrites } from "./writes.ts";

type Files = Record<string, string | Uint8Array>;

/** A model's repository. */
export interface HubRepo {
  /** The files of its first commit by their names, or the folder that has them. */
  files: Files | string;
  /** Tokens that have accepted the licence. Others can list the files, but not download them. */
  gatedTo?: string[];
  /** Tokens that may see the repository. */
  privateTo?: string[];
}

export interface HubRequest {
  /** Large files lie at another origin. */
  to: "hub" | "storage";
  method: string;
  /** With the query. */
  path: string;
  authorization: string | undefined;
  range: string | undefined;
}

export interface Hub {
  /** For `HF_ENDPOINT`. */
  endpoint: string;
  /** All so far, in their order. */
  requests: HubRequest[];
  /** Adds a commit to a repository's `main`, or to another branch. @returns its id */
  commit: (repo: string, files: Files, branch?: string) => string;
  /** Changes who may read a repository. */
  restrict: (repo: string, access: Omit<HubRepo, "files">) => void;
  /** The id of the newest commit on `main`. */
  head: (repo: string) => string;
  /** Answers in the hub's place, if it returns true: for faults. */
  intercept: (request: HubRequest, response: ServerResponse) => boolean;
  close: () => Promise<void>;
}

export interface StoredRepo extends Omit<HubRepo, "files"> {
  commits: Map<string, Map<string, Buffer>>;
  /** Commits by the names of branches. */
  branches: Map<string, string>;
}

/** The tokens that this hub knows: any but those that begin so. */
const UNKNOWN_TOKEN = "hf_unknown";
const MAIN = "main";

/**
 * A hub on this machine that answers as huggingface.co does: `GET /api/models/…` and `/api/datasets/…` with
 * `revision`, `blobs` and `tree`; `HEAD` and `GET /<repo>/resolve/<revision>/<file>` with
 * `X-Repo-Commit`, `ETag`, `X-Linked-Etag`, `X-Linked-Size` and ranges. A small file is redirected to
 * a path of the same origin, a large one to another origin, which refuses a token as a bucket does.
 * Errors are 401, 403 and 404 with `X-Error-Code`. `writes.ts` has the API for commits. Good enough for
 * Python's `huggingface_hub`, in both directions.
 *
 * It runs in the test's process. Give programs `HF_ENDPOINT: hub.endpoint` and an `HF_HOME` of their own;
 * `hub.requests` tells what they asked for. Close it when done: `onTestFinished(hub.close)`.
 * @param repos by their names: `{ "org/model": { files: directory }, "datasets/org/data": … }`
 */
export async function startHub(repos: Record<string, HubRepo> = {}): Promise<Hub> {
  const stored = new Map<string, StoredRepo>();
  const [hubServer, storageServer] = [
    await listen((request, response) => receive("hub", request, response)),
    await listen((request, response) => receive("storage", request, response)),
  ];
  const hub: Hub = {
    endpoint: originOf(hubServer),
    requests: [],
    commit,
    restrict: (repo, access) => void Object.assign(stored.get(repo)!, access),
    head: (repo) => stored.get(repo)?.branches.get(MAIN) ?? "",
    intercept: () => false,
    close: async () => void (await Promise.all([hubServer, storageServer].map(close))),
  };
  const origins = () => ({ hub: originOf(hubServer), storage: originOf(storageServer) });
  const writes = createWrites({ origins, repos: stored, add });
  for (const [name, { files, ...access }] of Object.entries(repos)) {
    stored.set(name, { ...access, commits: new Map(), branches: new Map() });
    commit(name, typeof files === "string" ? readFolder(files) : files);
  }

  function commit(name: string, files: Files, branch = MAIN): string {
    return add(
      name,
      new Map(Object.entries(files).map(([f, data]) => [f, Buffer.from(data)])),
      branch,
    );
  }

  function add(name: string, all: Map<string, Buffer>, branch = MAIN): string {
    const repo: StoredRepo = stored.get(name) ?? { commits: new Map(), branches: new Map() };
    stored.set(name, repo);
    const content = JSON.stringify([repo.commits.size, [...all].map(([f, b]) => [f, blobId(b)])]);
    const id = createHash("sha1").update(content).digest("hex");
    repo.commits.set(id, all);
    repo.branches.set(branch, id);
    return id;
  }

  function receive(to: HubRequest["to"], message: IncomingMessage, response: ServerResponse): void {
    const { method = "", url = "", headers } = message;
    const { authorization, range } = headers;
    const request = { to, method, path: url, authorization, range };
    hub.requests.push(request);
    if (hub.intercept(request, response)) return;
    if (method === "GET" || method === "HEAD") read(request, response);
    else write(request, message, response).catch(() => response.destroy());
  }

  function read(request: HubRequest, response: ServerResponse): void {
    if (request.to === "storage") answerStored(request, response);
    else answer(request, response);
  }

  async function write(
    { to, path, authorization }: HubRequest,
    message: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const token = authorization?.replace("Bearer ", "");
    const body = await bodyOf(message);
    const length = Number(message.headers["content-length"]);
    if (to === "storage") writes.put({ path, token, body }, length, response);
    else if (!writes.answer({ path, token, body }, response)) response.writeHead(404).end();
  }

  function answer(request: HubRequest, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.path, hub.endpoint);
    const api =
      /^\/api\/(?:models\/)?((?:datasets\/)?[^/]+\/[^/]+)(?:\/(revision|tree)\/([^/]+)(?:\/(.+))?)?$/;
    const file =
      /^(?:\/api\/resolve-cache\/models)?\/((?:datasets\/)?[^/]+\/[^/]+)(?:\/resolve)?\/([^/]+)\/(.+)$/;
    const [, apiRepo, kind, apiRevision = MAIN, folder = ""] = api.exec(pathname) ?? [];
    const [, fileRepo, fileRevision = "", path = ""] = file.exec(pathname) ?? [];
    const name = apiRepo ?? fileRepo ?? "";
    const repo = stored.get(name);
    const token = request.authorization?.replace("Bearer ", "");
    if (token?.startsWith(UNKNOWN_TOKEN)) {
      return refuse(response, 401, undefined, "Invalid credentials in Authorization header");
    }
    if (writes.answer({ path: request.path, token, body: Buffer.alloc(0) }, response)) return;
    if (!repo || (repo.privateTo && !repo.privateTo.includes(token ?? ""))) {
      // Don't reveal to strangers whether the repository exists.
      return refuse(response, token ? 404 : 401, "RepoNotFound", "Repository not found");
    }
    const revision = decodeURIComponent(apiRepo ? apiRevision : fileRevision);
    const id = repo.commits.has(revision) ? revision : (repo.branches.get(revision) ?? "");
    const files = repo.commits.get(id);
    if (!files) {
      return refuse(response, 404, "RevisionNotFound", `Invalid rev id: ${revision}`);
    }
    if (apiRepo && kind === "tree") return sendTree(response, files, folder);
    if (apiRepo) return sendInfo(response, { name, id, repo, files, query: searchParams });
    if (repo.gatedTo && !repo.gatedTo.includes(token ?? "")) {
      const message = `Access to model ${name} is restricted. Visit ${hub.endpoint}/${name} to ask for access.`;
      return refuse(response, token ? 403 : 401, "GatedRepo", message);
    }
    const found = files.get(decodeURIComponent(path));
    response.setHeader("X-Repo-Commit", id);
    if (!found) return refuse(response, 404, "EntryNotFound", "Entry not found");
    const headers = { "X-Linked-Size": found.length, "X-Linked-Etag": `"${etagOf(path, found)}"` };
    if (isLarge(path)) {
      const location = `${originOf(storageServer)}/${name}/${id}/${path}?Signature=s`;
      response.writeHead(302, { ...headers, Location: location }).end();
    } else if (pathname.startsWith("/api/")) {
      sendRange(request, response, found, `"${etagOf(path, found)}"`);
    } else {
      const location = `/api/resolve-cache/models/${name}/${id}/${path}`;
      response.writeHead(307, { ...headers, Location: location }).end();
    }
  }

  /** Signed links need no token, and buckets refuse one. */
  function answerStored(request: HubRequest, response: ServerResponse): void {
    const { pathname } = new URL(request.path, "http://x");
    const [, repo = "", id = "", path = ""] = /^\/(.+)\/([0-9a-f]{40})\/(.+)$/.exec(pathname) ?? [];
    const found = stored.get(repo)?.commits.get(id)?.get(decodeURIComponent(path));
    if (request.authorization !== undefined || !found) return void response.writeHead(400).end();
    sendRange(request, response, found, `"${blobId(found)}"`);
  }

  return hub;
}

function readFolder(folder: string): Files {
  const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(names.map(({ name }) => [name, readFileSync(join(folder, name))]));
}

async function listen(listener: RequestListener): Promise<Server> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

function originOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  if (server.listening) await new Promise((resolve) => server.close(resolve));
}
