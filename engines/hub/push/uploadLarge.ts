import { openAsBlob } from "node:fs";
import { KitError } from "../../../protocol/error.ts";
import { isRecord, parseRecord } from "../../../protocol/isRecord.ts";
import { unexpectedResponse } from "../hubListing.ts";
import type { HubRequest } from "../hubRequest.ts";
import { refusal, send } from "./hubApi.ts";

/** A file to push, with its hash. */
export interface LargeFile {
  /** Absolute path. */
  path: string;
  size: number;
  sha256: string;
}

/** Parts of a file that are sent at once. */
const CONCURRENT_PARTS = 4;
const LFS_JSON = "application/vnd.git-lfs+json";

/**
 * Uploads large files by Git LFS, with the hub's own extension for files in parts. Skips those that the
 * hub's storage has. They belong to no commit yet.
 * Source: github.com/git-lfs/git-lfs/blob/main/docs/api/batch.md, and `lfs.py` of `huggingface_hub`.
 * @param onBytes called with the number of bytes just sent or skipped
 * @throws KitError `HUB_REFUSED`, `HUB_UNREACHABLE`, `HUB_INVALID`
 */
export async function uploadLarge(
  files: readonly LargeFile[],
  request: HubRequest,
  onBytes: (bytes: number) => void,
): Promise<void> {
  if (files.length === 0) return;
  const batch = await send(`/${request.name.repo}.git/info/lfs/objects/batch`, request, {
    headers: { accept: LFS_JSON, "content-type": LFS_JSON },
    body: {
      operation: "upload",
      transfers: ["basic", "multipart"],
      hash_algo: "sha256",
      ref: { name: "main" },
      objects: files.map(({ sha256: oid, size }) => ({ oid, size })),
    },
  });
  const { objects } = parseRecord(await batch.text());
  const listed: unknown[] = Array.isArray(objects) ? objects : [];
  for (const file of files) {
    const object = listed.find((one) => isRecord(one) && one["oid"] === file.sha256);
    if (!isRecord(object))
      throw unexpectedResponse(request, "answered nothing for a file to upload");
    const { actions, error } = object;
    if (isRecord(error)) {
      const { code, message } = error;
      throw new KitError("HUB_REFUSED", refusal(code, String(message), request));
    }
    if (isRecord(actions)) await uploadFile(file, actions, request, onBytes);
    else onBytes(file.size);
  }
}

async function uploadFile(
  file: LargeFile,
  actions: Record<string, unknown>,
  request: HubRequest,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const { sha256: oid, size } = file;
  const upload = actionOf(actions["upload"]);
  if (!upload) throw unexpectedResponse(request, "named no address for a file to upload");
  const content = await openAsBlob(file.path);
  const { chunk_size: chunkSize, ...header } = upload.header;
  if (chunkSize === undefined) {
    await send(upload.href, request, { body: counted(content, onBytes) });
  } else {
    const urls = Object.entries(header).filter(([name]) => /^\d+$/.test(name));
    const bytes = Number(chunkSize);
    if (!(bytes > 0) || urls.length !== Math.ceil(size / bytes)) {
      throw unexpectedResponse(request, "named a wrong number of parts for a file to upload");
    }
    const parts = urls.map(([name, url]) => {
      const start = (Number(name) - 1) * bytes;
      return { partNumber: Number(name), url, slice: content.slice(start, start + bytes) };
    });
    const sent = await sendParts(parts, request, onBytes);
    await send(upload.href, request, {
      headers: { accept: LFS_JSON, "content-type": LFS_JSON },
      body: { oid, parts: sent.toSorted((a, b) => a.partNumber - b.partNumber) },
    });
  }
  const verify = actionOf(actions["verify"]);
  if (verify) await send(verify.href, request, { body: { oid, size } });
}

interface Part {
  partNumber: number;
  url: string;
  slice: Blob;
}

async function sendParts(
  parts: readonly Part[],
  request: HubRequest,
  onBytes: (bytes: number) => void,
): Promise<{ partNumber: number; etag: string }[]> {
  const abort = new AbortController();
  const signal = AbortSignal.any([request.signal, abort.signal]);
  const waiting = parts.values();
  const sent: { partNumber: number; etag: string }[] = [];
  async function sendNext(): Promise<void> {
    for (const { partNumber, url, slice } of waiting) {
      const body = counted(slice, onBytes);
      const { headers } = await send(url, { ...request, signal }, { body });
      const etag = headers.get("etag");
      if (!etag) throw unexpectedResponse(request, "sent no ETag for a part of a file");
      sent.push({ partNumber, etag });
    }
  }
  try {
    await Promise.all(Array.from({ length: CONCURRENT_PARTS }, sendNext));
  } finally {
    // One has failed: end the others.
    abort.abort();
  }
  return sent;
}

/** An action of the batch, whose values are strings. */
function actionOf(action: unknown): { href: string; header: Record<string, string> } | undefined {
  const { href, header } = isRecord(action) ? action : {};
  if (typeof href !== "string" || !URL.canParse(href)) return undefined;
  const strings = Object.entries(isRecord(header) ? header : {}).map(([name, value]) => [
    name,
    String(value),
  ]);
  return { href, header: Object.fromEntries(strings) as Record<string, string> };
}

/** A blob that reports its bytes as they are sent, and takes them back when it is sent again. */
function counted(blob: Blob, onBytes: (bytes: number) => void): Blob {
  let sent = 0;
  const report = (bytes: number) => {
    sent += bytes;
    onBytes(bytes);
  };
  const stream = () => {
    report(-sent);
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        report(chunk.length);
        controller.enqueue(chunk);
      },
    });
    return blob.stream().pipeThrough(counter);
  };
  return Object.assign(blob.slice(), { stream });
}
