import { readFileSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { KitError } from "../../../protocol/error.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import type { PushOptions, PushResult } from "../../../protocol/push.ts";
import { CONFIG_FILE, SIDECAR_FILES, WEIGHTS_INDEX } from "../../modelFiles/names.ts";
import { hashOf } from "../fileDownload.ts";
import { type HubFile, isLarge, unexpectedResponse } from "../hubListing.ts";
import type { HubRequest } from "../hubRequest.ts";
import { createTransferNotes } from "../transferNotes.ts";
import { send, sendForRecord } from "./hubApi.ts";
import { type TargetRepo, createTarget } from "./targetRepo.ts";
import { uploadLarge } from "./uploadLarge.ts";

/** Bytes of a file by which the hub tells text from other data. */
const SAMPLE_BYTES = 512;

/**
 * Pushes files in one commit, which also removes those of another model that would change how this one loads.
 * Commits nothing if nothing changes.
 * @param paths absolute, by their names in the repository; with a `README.md`
 * @throws KitError `HUB_REFUSED`, `HUB_UNREACHABLE`, `HUB_INVALID`, `CONFIG_INVALID`
 */
export async function pushFiles(
  target: TargetRepo,
  paths: Record<string, string>,
  { isPrivate, title, onNote = () => {} }: Pick<PushOptions, "isPrivate" | "title" | "onNote">,
): Promise<PushResult> {
  const { request } = target;
  const { repo } = request.name;
  const { endpoint } = request.settings;
  const files = Object.entries(paths).map(([name, path]) => ({
    name,
    path,
    size: statSync(path).size,
  }));
  refuseOtherWeights(target, Object.keys(paths));
  refuseOthersCard(target);
  await send("/api/validate-yaml", request, {
    body: { repoType: "model", content: readFileSync(paths["README.md"]!, "utf8") },
    // Older hubs don't have it.
    accepted: [404],
  });
  const existing = target.existing ?? (await createTarget(target, isPrivate));
  const changed = await changedFiles(files, existing.files);
  const removed = staleFiles(Object.keys(paths), existing.files);
  const bytes = changed.reduce((sum, { size }) => sum + size, 0);
  const result = {
    url: `${endpoint}/${repo}`,
    isPrivate: existing.isPrivate,
    files: changed.map(({ name }) => name),
    removed,
    bytes,
  };
  if (changed.length + removed.length === 0) return { ...result, commit: existing.commit };
  const largeNames = await namesOfLarge(changed, request);
  const note = createTransferNotes(`pushing ${repo}`, bytes, onNote);
  let sent = 0;
  const large = await Promise.all(
    changed
      .filter(({ name }) => largeNames.has(name))
      .map(async (file) => ({ ...file, sha256: await hashOf(file.path, file.size, true) })),
  );
  await uploadLarge(large, request, (count) => note((sent += count)));
  const lines = [
    { key: "header", value: { summary: title, description: "", parentCommit: existing.commit } },
    ...changed
      .filter(({ name }) => !largeNames.has(name))
      .map(({ name, path }) => {
        const content = readFileSync(path, "base64");
        return { key: "file", value: { path: name, content, encoding: "base64" } };
      }),
    ...large.map(({ name, size, sha256 }) => {
      return { key: "lfsFile", value: { path: name, algo: "sha256", oid: sha256, size } };
    }),
    ...removed.map((path) => ({ key: "deletedFile", value: { path } })),
  ];
  const { commitOid } = await sendForRecord(`/api/models/${repo}/commit/main`, request, {
    headers: { "content-type": "application/x-ndjson" },
    body: lines.map((line) => JSON.stringify(line)).join("\n"),
    // Sent twice, it might be two commits.
    isOnce: true,
  });
  if (typeof commitOid !== "string") throw unexpectedResponse(request, "named no commit");
  return { ...result, commit: commitOid };
}

interface LocalFile {
  name: string;
  path: string;
  size: number;
}

async function changedFiles(files: LocalFile[], listed: HubFile[]): Promise<LocalFile[]> {
  const changed: LocalFile[] = [];
  for (const file of files) {
    const there = listed.find(({ name }) => name === file.name);
    const isSame =
      there?.size === file.size &&
      there.hash === (await hashOf(file.path, file.size, isLarge(there)));
    if (!isSame) changed.push(file);
  }
  return changed;
}

/** Files of a model pushed before that this one lacks; none beside GGUF files, which contain their own. */
function staleFiles(names: string[], listed: HubFile[]): string[] {
  if (hasGguf(names)) return [];
  const read = [CONFIG_FILE, WEIGHTS_INDEX, ...SIDECAR_FILES];
  const stale = listed.filter(({ name }) => read.includes(name) && !names.includes(name));
  return stale.map(({ name }) => name);
}

function hasGguf(names: string[]): boolean {
  return names.some((name) => name.endsWith(".gguf"));
}

/** Names of the files that the hub stores outside git. */
async function namesOfLarge(files: LocalFile[], request: HubRequest): Promise<Set<unknown>> {
  if (files.length === 0) return new Set();
  const described = await Promise.all(
    files.map(async ({ name, path, size }) => ({ path: name, size, sample: await sampleOf(path) })),
  );
  const path = `/api/models/${request.name.repo}/preupload/main`;
  const { files: modes } = await sendForRecord(path, request, { body: { files: described } });
  if (!Array.isArray(modes)) throw unexpectedResponse(request, "did not say how to upload files");
  const large = modes.filter((mode) => isRecord(mode) && mode["uploadMode"] === "lfs");
  return new Set(large.map((mode: Record<string, unknown>) => mode["path"]));
}

async function sampleOf(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(SAMPLE_BYTES), 0, SAMPLE_BYTES, 0);
    return buffer.toString("base64", 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** @throws KitError `HUB_REFUSED` for a README.md that somebody wrote */
function refuseOthersCard({ request, existing }: TargetRepo): void {
  if (!existing || existing.isOurs || !existing.files.some(({ name }) => name === "README.md"))
    return;
  throw new KitError(
    "HUB_REFUSED",
    `${request.name.repo} has a README.md that Kit didn't write. Name another repository, or delete that file there.`,
  );
}

/**
 * A repository with two kinds of weights would load differently in each program. GGUF files of several types
 * may share one.
 * @throws KitError `HUB_REFUSED`
 */
function refuseOtherWeights({ request, existing }: TargetRepo, names: string[]): void {
  const isGguf = hasGguf(names);
  const other = existing?.files.find(
    ({ name }) =>
      /\.(safetensors|bin|gguf|pt|onnx)$/.test(name) &&
      !names.includes(name) &&
      !(isGguf && name.endsWith(".gguf")),
  );
  if (!other) return;
  throw new KitError(
    "HUB_REFUSED",
    `${request.name.repo} has another kind of model (${other.name}). Name another repository.`,
  );
}
