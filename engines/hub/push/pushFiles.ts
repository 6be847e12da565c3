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
import { type ExistingRepo, type TargetRepo, createTarget } from "./targetRepo.ts";
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
  {
    isPrivate,
    title,
    checkpoint,
    onNote = () => {},
  }: Pick<PushOptions, "isPrivate" | "title" | "checkpoint" | "onNote">,
): Promise<PushResult> {
  const { request } = target;
  const { repo } = request.name;
  const { endpoint } = request.settings;
  const files = Object.entries(paths).map(([name, path]) => ({
    name,
    path,
    size: statSync(path).size,
  }));
  const names = Object.keys(paths);
  if (target.existing) refuseMixture(repo, target.existing, { names, checkpoint });
  await send("/api/validate-yaml", request, {
    body: { repoType: "model", content: readFileSync(paths["README.md"]!, "utf8") },
    // Older hubs don't have it.
    accepted: [404],
  });
  const existing = target.existing ?? (await createTarget(target, isPrivate));
  // Another first push may have filled it.
  refuseMixture(repo, existing, { names, checkpoint });
  const changed = await changedFiles(files, existing.files);
  const removed = staleFiles(names, existing.files);
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
  request.signal.throwIfAborted();
  // An abort here would leave open whether the hub has committed.
  const lasting = { ...request, signal: new AbortController().signal };
  const { commitOid } = await sendForRecord(`/api/models/${repo}/commit/main`, lasting, {
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

/**
 * A repository has one card, and one kind of weights, or each program would load others. GGUF files of several types
 * share one if they are of the same checkpoint.
 * @throws KitError `HUB_REFUSED`
 */
function refuseMixture(
  repo: string,
  existing: ExistingRepo,
  { names, checkpoint }: { names: string[]; checkpoint: string },
): void {
  const listed = existing.files.map(({ name }) => name);
  const others = listed.filter(
    (name) => /\.(safetensors|bin|gguf|pt|onnx)$/.test(name) && !names.includes(name),
  );
  const isGguf = hasGguf(names);
  const otherKind = others.find((name) => !(isGguf && name.endsWith(".gguf")));
  const refuse = (what: string) => {
    throw new KitError("HUB_REFUSED", `${repo} has ${what}`);
  };
  if (existing.checkpoint === undefined && listed.includes("README.md")) {
    refuse(
      "a README.md that Kit didn't write. Name another repository, or delete that file there.",
    );
  }
  if (otherKind) refuse(`another kind of model (${otherKind}). Name another repository.`);
  if (others.length > 0 && existing.checkpoint !== checkpoint) {
    refuse(
      `files of another checkpoint (${others.join(", ")}), which the new card would describe too. Name another repository, or delete them there.`,
    );
  }
}
