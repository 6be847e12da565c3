import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { HubRequest, StoredRepo } from "./server.ts";

export function sendInfo(
  response: ServerResponse,
  about: {
    name: string;
    id: string;
    repo: StoredRepo;
    files: Map<string, Buffer>;
    query: URLSearchParams;
  },
): void {
  const { name, id, repo, files, query } = about;
  const details = query.get("blobs") === "true";
  const siblings = [...files].map(([rfilename, data]) => ({
    rfilename,
    ...(details && {
      size: data.length,
      blobId: blobId(data),
      ...lfsOf(rfilename, data, "sha256"),
    }),
  }));
  const gated = repo.gatedTo ? "manual" : false;
  const card = String(files.get("README.md") ?? "");
  const license = /^license: (\S+)$/m.exec(card)?.[1];
  const checkpoint = /^kit_checkpoint: (\S+)$/m.exec(card)?.[1];
  sendJson(response, {
    ...{ _id: id.slice(0, 24), id: name, modelId: name, sha: id, private: !!repo.privateTo, gated },
    ...{ disabled: false, downloads: 0, likes: 0, tags: [], siblings },
    cardData: { license, kit_checkpoint: checkpoint && (JSON.parse(checkpoint) as string) },
    ...{ createdAt: "2026-01-01T00:00:00.000Z", lastModified: "2026-01-01T00:00:00.000Z" },
  });
}

/** All files below a folder. */
export function sendTree(
  response: ServerResponse,
  files: Map<string, Buffer>,
  folder: string,
): void {
  const below = [...files].filter(([path]) => folder === "" || path.startsWith(`${folder}/`));
  if (below.length === 0) return refuse(response, 404, "EntryNotFound", `No ${folder} there`);
  const entries = below.map(([path, data]) => ({
    ...{ type: "file", oid: blobId(data), size: data.length, path },
    ...lfsOf(path, data, "oid"),
  }));
  sendJson(response, entries);
}

/** How a large file is described, if it is one. */
function lfsOf(path: string, data: Buffer, key: "oid" | "sha256") {
  if (!isLarge(path)) return {};
  return { lfs: { [key]: etagOf(path, data), size: data.length, pointerSize: 135 } };
}

export function sendRange(
  { method, range = "" }: HubRequest,
  response: ServerResponse,
  data: Buffer,
  etag: string,
): void {
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(range) ?? [];
  const start = Number(from ?? 0);
  const end = to ? Math.min(Number(to) + 1, data.length) : data.length;
  const headers = { ETag: etag, "Accept-Ranges": "bytes" };
  if (from !== undefined && start >= data.length) {
    return void response.writeHead(416, { "Content-Range": `bytes */${data.length}` }).end();
  }
  response.writeHead(from === undefined ? 200 : 206, {
    ...headers,
    "Content-Length": end - start,
    ...(from !== undefined && { "Content-Range": `bytes ${start}-${end - 1}/${data.length}` }),
  });
  response.end(method === "HEAD" ? undefined : data.subarray(start, end));
}

export function sendJson(response: ServerResponse, body: object): void {
  response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}

export function refuse(
  response: ServerResponse,
  status: number,
  code: string | undefined,
  message: string,
): void {
  const headers = { "X-Error-Message": message, ...(code && { "X-Error-Code": code }) };
  response.writeHead(status, headers).end(JSON.stringify({ error: message }));
}

export function isLarge(path: string): boolean {
  return /\.(safetensors|bin|gguf|model|parquet)$/.test(path);
}

export function etagOf(path: string, data: Buffer): string {
  return isLarge(path) ? sha256(data) : blobId(data);
}

/** As git names a file's content. */
export function sha256(data: Buffer): string {
  return createHash("sha256").update(data).digest("hex");
}

export function blobId(data: Buffer): string {
  return createHash("sha1").update(`blob ${data.length}\0`).update(data).digest("hex");
}
