import type { IncomingMessage, ServerResponse } from "node:http";
import { blobId, etagOf, isLarge, refuse, sendJson, sha256 } from "./answers.ts";
import type { StoredRepo } from "./server.ts";

/** A write of the hub's API that a test's hub answers. */
export interface Write {
  path: string;
  token: string | undefined;
  body: Buffer;
}

interface Stores {
  /** The address of the hub, and of its storage. */
  origins: () => { hub: string; storage: string };
  repos: Map<string, StoredRepo>;
  /** Adds a commit. @returns its id */
  add: (name: string, files: Map<string, Buffer>) => string;
}

/** Larger files are uploaded in parts of this size. */
export const PART_BYTES = 8_192;
/** Tokens that begin so can't write. */
const READ_TOKEN = "hf_read";

/**
 * The hub's API for commits: `whoami-v2`, `repos/create`, `validate-yaml`, `preupload`, Git LFS's batch, parts
 * and `verify`, and `commit`. Sources: `_commit_api.py`, `lfs.py` and `hf_api.py` of `huggingface_hub`.
 */
export function createWrites({ origins, repos, add }: Stores) {
  /** What was uploaded, by its SHA-256, in a commit or not. */
  const objects = new Map<string, Buffer>();
  const parts = new Map<string, Buffer>();

  /** @returns false for a path that is no write's */
  function answer(write: Write, response: ServerResponse): boolean {
    const { path, token, body } = write;
    const { pathname } = new URL(path, "http://x");
    const repoPath =
      /^\/api\/models\/([^/]+\/[^/]+)\/(preupload|commit)\/main$/.exec(pathname) ??
      /^\/([^/]+\/[^/]+)\.git\/info\/lfs\/(objects\/batch|verify)$/.exec(pathname);
    const [, name = "", action = pathname] = repoPath ?? [];
    const handle = HANDLERS[action];
    if (!handle) return false;
    if (token === undefined) {
      refuse(response, 401, undefined, "Invalid username or password.");
    } else if (repoPath && !repos.get(name)) {
      refuse(response, 404, "RepoNotFound", "Repository not found");
    } else if (action !== "/api/whoami-v2" && token.startsWith(READ_TOKEN)) {
      refuse(response, 403, undefined, "You don't have the required permissions");
    } else {
      handle({ name, token, body }, response);
    }
    return true;
  }

  type Handle = (about: { name: string; token: string; body: Buffer }, to: ServerResponse) => void;

  const HANDLERS: Record<string, Handle> = {
    "/api/whoami-v2": ({ token }, response) => {
      const role = token.startsWith(READ_TOKEN) ? "read" : "write";
      sendJson(response, { type: "user", name: "ada", auth: { accessToken: { role } } });
    },
    "/api/validate-yaml": (_, response) => sendJson(response, { errors: [], warnings: [] }),
    "/api/repos/create": ({ token, body }, response) => {
      const { organization = "ada", name, ...visible } = json(body);
      const id = `${organization}/${name}`;
      if (repos.has(id)) return refuse(response, 409, undefined, "You already created this repo");
      const isPrivate = visible.private === true || visible.visibility === "private";
      repos.set(id, {
        commits: new Map(),
        branches: new Map(),
        ...(isPrivate && { privateTo: [token] }),
      });
      add(id, new Map([[".gitattributes", Buffer.from("*.safetensors filter=lfs\n")]]));
      sendJson(response, { url: `${origins().hub}/${id}`, name: id, id });
    },
    preupload: ({ name, body }, response) => {
      const described = json(body).files.map(({ path }) => {
        const there = headOf(name)?.files.get(path);
        const uploadMode = isLarge(path) ? "lfs" : "regular";
        return { path, uploadMode, shouldIgnore: false, oid: there ? etagOf(path, there) : null };
      });
      sendJson(response, { files: described });
    },
    "objects/batch": ({ name, body }, response) => {
      const described = json(body).objects.map(({ oid, size }) => {
        if (objects.has(oid)) return { oid, size };
        const url = (part: number) => `${origins().storage}/upload/${oid}/${part}?Signature=s`;
        const count = Math.ceil(size / PART_BYTES);
        const urls = Array.from({ length: count }, (_, i) => [String(i + 1), url(i + 1)]);
        const header = { chunk_size: String(PART_BYTES), ...Object.fromEntries(urls) };
        const complete = `${origins().hub}/api/complete_multipart`;
        const upload = count === 1 ? { href: url(0) } : { href: complete, header };
        const verify = { href: `${origins().hub}/${name}.git/info/lfs/verify` };
        return { oid, size, actions: { upload, verify } };
      });
      sendJson(response, { transfer: "multipart", objects: described });
    },
    "/api/complete_multipart": ({ body }, response) => {
      const { oid, parts: listed } = json(body);
      const sent = listed.map(({ partNumber, etag }) => {
        const part = parts.get(`${oid}/${partNumber}`);
        return part && `"${blobId(part)}"` === etag ? part : Buffer.alloc(0);
      });
      store(oid, Buffer.concat(sent), response);
    },
    verify: ({ body }, response) => {
      const { oid, size } = json(body);
      if (objects.get(oid)?.length === size) return sendJson(response, {});
      refuse(response, 404, undefined, "Object not found");
    },
    commit: ({ name, body }, response) => {
      const lines = body.toString().trim().split("\n");
      const head = headOf(name);
      const files = new Map(head?.files);
      for (const line of lines) {
        const { key, value } = JSON.parse(line) as { key: string; value: Record<string, string> };
        const { parentCommit, path = "", content = "", oid = "" } = value;
        if (key === "header" && parentCommit !== undefined && parentCommit !== head?.id) {
          return refuse(response, 412, undefined, "A commit has happened since");
        }
        if (key === "deletedFile") {
          files.delete(path);
          continue;
        }
        const data = key === "lfsFile" ? objects.get(oid) : Buffer.from(content, "base64");
        if (!data) return refuse(response, 400, undefined, `No LFS object ${oid}`);
        if (key !== "header") files.set(path, data);
      }
      const commitOid = add(name, files);
      sendJson(response, { commitOid, commitUrl: `${origins().hub}/${name}/commit/${commitOid}` });
    },
  };

  function headOf(name: string): { id: string; files: Map<string, Buffer> } | undefined {
    const repo = repos.get(name);
    const id = repo?.branches.get("main") ?? "";
    const files = repo?.commits.get(id);
    return files && { id, files };
  }

  function store(oid: string, data: Buffer, response: ServerResponse): void {
    if (sha256(data) !== oid) return refuse(response, 400, undefined, "The hash doesn't match");
    objects.set(oid, data);
    response.writeHead(200).end("{}");
  }

  /** A part, or a whole small file at part 0. Buckets refuse a token, and need the length. */
  function put({ path, token, body }: Write, length: number, response: ServerResponse): void {
    const [, oid = "", part] = /^\/upload\/([0-9a-f]{64})\/(\d+)/.exec(path) ?? [];
    if (token !== undefined || length !== body.length) return void response.writeHead(400).end();
    if (part === "0") return store(oid, body, response);
    parts.set(`${oid}/${part}`, body);
    response.writeHead(200, { ETag: `"${blobId(body)}"` }).end();
  }

  return { answer, put };
}

/** Fields of all requests' JSON. */
interface Fields {
  name: string;
  organization?: string;
  visibility?: string;
  private?: boolean;
  oid: string;
  size: number;
  files: { path: string }[];
  objects: { oid: string; size: number }[];
  parts: { partNumber: number; etag: string }[];
}

function json(body: Buffer): Fields {
  return JSON.parse(body.toString()) as Fields;
}

export async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
