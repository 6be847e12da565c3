import { readFileSync } from "node:fs";
import { readRegularFile } from "../../disk/file.ts";
import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { TOOLS_TEMPLATE_FILE } from "../modelFiles/names.ts";
import { isCommit } from "./hubName.ts";
import { type HubResponse, type HubRequest, fetchFromHub } from "./hubRequest.ts";

export interface HubFile {
  name: string;
  /** In bytes. */
  size: number;
  /** SHA-256 of a large file, else git's SHA-1. */
  hash: string;
}

/** Whether the hub stores a file outside git. */
export function isLarge({ hash }: Pick<HubFile, "hash">): boolean {
  return hash.length === 64;
}

/** The files of a commit. */
export interface HubListing {
  commit: string;
  /** For a model: only top-level files, and its chat template for tools. */
  files: HubFile[];
}

/** The longest listings have a few thousand files of about 300 bytes. */
const MAX_BYTES = 16 * 2 ** 20;
const HASH = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

/**
 * Asks the hub for a revision's commit and files.
 * @throws KitError `HUB_UNREACHABLE`, `HUB_INVALID`, `MODEL_REFUSED` or `MODEL_UNKNOWN`
 */
export async function listFiles(request: HubRequest): Promise<HubListing> {
  const { settings, name } = request;
  const revision = encodeURIComponent(name.revision);
  const api = `${settings.endpoint}/api/${name.repoType}s/${name.repo}`;
  const url = `${api}/revision/${revision}?blobs=true`;
  return parseListing(await readJson(await fetchFromHub(url, request)), request);
}

/** The cached listing; undefined if it is missing or damaged. */
export function cachedListing(path: string, request: HubRequest): HubListing | undefined {
  return readRegularFile(path, undefined, (file, { size }) =>
    size > MAX_BYTES ? undefined : parseListing(JSON.parse(readFileSync(file, "utf8")), request),
  );
}

/** The format of {@link cachedListing}. */
export function listingText({ commit, files }: HubListing): string {
  const siblings = files.map(({ name, size, hash }) => ({
    rfilename: name,
    size,
    ...(isLarge({ hash }) ? { lfs: { sha256: hash } } : { blobId: hash }),
  }));
  return JSON.stringify({ sha: commit, siblings });
}

export function parseListing(listed: unknown, request: HubRequest): HubListing {
  const { sha, siblings } = isRecord(listed) ? listed : {};
  if (typeof sha !== "string" || !isCommit(sha) || !Array.isArray(siblings)) {
    throw unexpectedResponse(request, "did not answer like a Hugging Face hub");
  }
  return { commit: sha, files: siblings.flatMap((sibling) => parseFile(sibling, request)) };
}

/** Skips files in a model's subfolders, except its chat template for tools. */
function parseFile(sibling: unknown, request: HubRequest): HubFile[] {
  const { rfilename: name, size, blobId, lfs } = isRecord(sibling) ? sibling : {};
  if (typeof name !== "string" || !isSafePath(name)) {
    throw unexpectedResponse(request, `lists a file with the invalid name ${JSON.stringify(name)}`);
  }
  const isInSubfolder = name.includes("/") && name !== TOOLS_TEMPLATE_FILE;
  if (isInSubfolder && request.name.repoType === "model") return [];
  const hash = isRecord(lfs) ? lfs["sha256"] : blobId;
  if (typeof hash !== "string" || !HASH.test(hash) || !isSize(size)) {
    throw unexpectedResponse(request, `lists ${name} without a size or hash`);
  }
  return [{ name, size, hash }];
}

/** Whether a name is a path below the repository, without control characters. */
function isSafePath(name: string): boolean {
  return (
    !/[\\\u0000-\u001f]/.test(name) &&
    name.split("/").every((part) => !["", ".", ".."].includes(part))
  );
}

function isSize(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** Undefined if the response isn't JSON, such as a captive portal's login page. */
async function readJson({ chunks }: HubResponse): Promise<unknown> {
  const received: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks()) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) return undefined;
    received.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(received).toString());
  } catch {
    return undefined;
  }
}

/** The error for a response that no hub would send, such as a login page or a wrong size. */
export function unexpectedResponse(
  { settings }: { settings: { endpoint: string } },
  what: string,
): KitError {
  return new KitError(
    "HUB_INVALID",
    `${settings.endpoint} ${what}. Check HF_ENDPOINT and the network, and try again.`,
  );
}
