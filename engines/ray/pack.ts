import { existsSync, readFileSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { listFiles } from "../../disk/listFiles.ts";
import { ownFile } from "../../disk/ownFile.ts";
import { KitError, readToResume } from "../../protocol/error.ts";
import { isUrl } from "../../protocol/url.ts";
import { STATE_FILE } from "../checkpoint/trainerState.ts";
import constants from "../constants.json" with { type: "json" };
import { ADAPTER_CONFIG } from "../lora/peftConfig.ts";
import { SIDECAR_FILES, CONFIG_FILE, TOOLS_TEMPLATE_FILE } from "../modelFiles/names.ts";
import type { PythonJob } from "../python/messages.ts";
import type { Cluster } from "./cluster.ts";
import type { RayJob, StoredCheckpoint, TrainingTask } from "./messages.ts";
import { isVisibleTo, isInStorage, readStoredRecord } from "./storedRecord.ts";
import { type PackedFile, zipSize } from "./zip.ts";

/** Ray accepts archives below this size, in bytes. */
const LIMIT_BYTES = 100 * 2 ** 20;
const MEBIBYTE = 2 ** 20;

/** Files of a model or a checkpoint by name. */
const MODEL_FILES = new Set([CONFIG_FILE, ...SIDECAR_FILES, ADAPTER_CONFIG, STATE_FILE]);
/** And by pattern: weights in the formats that `transformers` reads, vocabularies, and the Trainer's state. */
const MODEL_FILE_PATTERNS = [
  /^[\w.-]+\.safetensors(\.index\.json)?$/,
  /^(pytorch|adapter)_model[\w.-]*\.bin(\.index\.json)?$/,
  /^(vocab\.txt|[\w.-]+\.model)$/,
  /^(optimizer|scheduler|scaler)\.pt$/,
  /^rng_state(_\d+)?\.pth$/,
];

/** The engines' Python files, by folder in the package. */
const codeFolders = () => ({
  kit_engine: ownFile(new URL("../python/kit_engine/__init__.py", import.meta.url), "main.py"),
  kit_ray: ownFile(new URL("./kit_ray/__init__.py", import.meta.url), "driver.py"),
});

interface PackOptions {
  id: string;
  mode: "train" | "check";
  job: PythonJob;
  cluster: Cluster;
}

/**
 * Everything that a job needs on the cluster, except files in the cluster's `storage` or at a URL, which every node can
 * read.
 * @throws KitError `CLUSTER_UNFIT` above Ray's size limit
 */
export function pack({ id, mode, job, cluster }: PackOptions): PackedFile[] {
  const data = createPackage(cluster);
  const { resumeFrom: from } = job;
  const task: TrainingTask = {
    ...job,
    files: job.files.map((file, i) => data.file(file, `data/${i}`)),
    evalFiles: job.evalFiles?.map((file, i) => data.file(file, `eval/${i}`)),
    model: {
      base: data.folder(job.model.base, "model"),
      ...(job.model.adapter !== undefined && {
        adapter: data.folder(job.model.adapter, "adapter"),
      }),
    },
    resumeFrom: from && readToResume(() => data.checkpoint(from, "resume")),
    // The base's folder on this machine.
    ...(job.config.lora && { baseName: job.model.base }),
  };
  return withCode({ id, mode, job: task }, data, cluster);
}

/** Adds the code, and the job as its driver reads it. */
export function withCode(
  job: Pick<RayJob, "id" | "mode" | "job">,
  data: ReturnType<typeof createPackage>,
  { storage, workers, cpusPerWorker: cpus, gpusPerWorker: gpus, maxFailures }: Cluster,
): PackedFile[] {
  const rayJob: RayJob = {
    ...job,
    workers,
    cpus,
    gpus,
    storage,
    max_failures: maxFailures,
    names: data.names,
  };
  const bytes = Buffer.from(JSON.stringify(rayJob));
  const ownFiles = [...codeFiles(), { path: "job.json", bytes }];
  return [...ownFiles, ...data.files(ownFiles)];
}

/** The Python files and their constants, without a job. */
export function codeFiles(): PackedFile[] {
  const pythonFiles = Object.entries(codeFolders()).flatMap(([folder, file]) =>
    pythonFilesIn(dirname(file)).map((name) => ({
      path: `${folder}/${name}`,
      bytes: readFileSync(join(dirname(file), name)),
    })),
  );
  const bytes = Buffer.from(JSON.stringify(constants));
  return [...pythonFiles, { path: "kit_engine/process/constants.json", bytes }];
}

/** Collects files by their paths in the package. */
export function createPackage(cluster: Cluster) {
  const { storage } = cluster;
  const names: Record<string, string> = {};
  const paths: [target: string, path: string][] = [];
  const isShared = (path: string) => storage !== undefined && isInStorage(storage, path);

  function file(path: string, target: string): string {
    if (isShared(path) || isUrl(path)) return path;
    names[target] = path;
    paths.push([target, path]);
    return target;
  }

  function folder(path: string, target: string): string {
    if (isShared(path)) return path;
    names[target] = path;
    for (const [name, filePath] of filesToUpload(path)) paths.push([`${target}/${name}`, filePath]);
    return target;
  }

  /** A checkpoint's folder. If it is incomplete here, the cluster uses its stored copy. */
  function checkpoint(path: string, target: string): string {
    const stored = readStoredRecord(path);
    if (!stored || isComplete(path, stored) || !isVisibleTo(cluster, stored))
      return folder(path, target);
    names[stored.path] = path;
    return stored.path;
  }

  /** @param others the package's other files, which count toward the limit */
  function files(others: readonly PackedFile[]): PackedFile[] {
    const sized = paths.map(([path, from]) => ({ path, from, size: sizeOf(from) }));
    const rest = others.map(({ path, bytes }) => ({ path, from: path, size: bytes.length }));
    const bytes = zipSize([...rest, ...sized]);
    if (bytes >= LIMIT_BYTES) throw tooLarge(bytes, sized);
    return sized.map(({ path, from }) => ({
      path,
      bytes: withReadError(from, () => readFileSync(from)),
    }));
  }

  return { names, file, folder, checkpoint, files };
}

function pythonFilesIn(folder: string): string[] {
  return listFiles(folder)
    .filter((name) => name.endsWith(".py") || name.endsWith("grammar.js"))
    .sort();
}

function sizeOf(path: string): number {
  return withReadError(path, () => statSync(path).size);
}

function isComplete(path: string, { files }: StoredCheckpoint): boolean {
  return Object.keys(files).every((name) => existsSync(join(path, name)));
}

function tooLarge(bytes: number, files: { path: string; from: string; size: number }[]): KitError {
  const [largest] = files.toSorted((a, b) => b.size - a.size);
  const name = basename(largest?.from ?? "");
  // Models can't be read from URLs.
  const urlAdvice = /^(data|eval)\//.test(largest?.path ?? "")
    ? `, or use a URL that the workers can read, such as s3://bucket/${name}`
    : "";
  return new KitError(
    "CLUSTER_UNFIT",
    `Ray accepts at most 100 MiB per job, but this one has ${Math.floor(bytes / MEBIBYTE) + 1}, most of it in ${name}. Move it into ray's storage, a path that this machine and every node can read, and use it from there${urlAdvice}.`,
  );
}

/**
 * The files of a model or a checkpoint to upload. Anything else in the folder, such as an `.env`, stays here.
 * @returns their names and paths, by name
 * @throws KitError `CHECKPOINT_INVALID` for a link out of the folder, which could lead to any file
 */
function filesToUpload(folder: string): [name: string, path: string][] {
  const top = readdirSync(folder).filter((name) => isModelFile(name));
  const below = [TOOLS_TEMPLATE_FILE].filter((name) => existsSync(join(folder, name)));
  return [...top, ...below]
    .map((name): [string, string] => [name, join(folder, name)])
    .filter(([, path]) => isFileWithin(path, allowedFolders(folder)))
    .sort();
}

function isModelFile(name: string): boolean {
  return MODEL_FILES.has(name) || MODEL_FILE_PATTERNS.some((pattern) => pattern.test(name));
}

/** The folder itself; for a snapshot in the hub's cache, whose files are links, also its blobs. */
function allowedFolders(folder: string): string[] {
  const real = realpathSync(folder);
  const parent = dirname(real);
  return basename(parent) === "snapshots" ? [real, join(dirname(parent), "blobs")] : [real];
}

function isFileWithin(path: string, allowed: readonly string[]): boolean {
  const isFile = withReadError(path, () => statSync(path).isFile());
  if (!isFile) return false;
  const real = realpathSync(path);
  if (allowed.some((folder) => real.startsWith(`${folder}${sep}`))) return true;
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${path} would be uploaded to the cluster, but it links to a file outside its folder. Remove the link, or copy the file itself there.`,
  );
}

/** @throws KitError `CHECKPOINT_INVALID` for an unreadable file */
function withReadError<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException;
    throw new KitError(
      "CHECKPOINT_INVALID",
      `${path} must be uploaded to the cluster, but cannot be read (${code}). Restore it, or remove the link to it.`,
      { cause },
    );
  }
}
