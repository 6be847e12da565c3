import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { KitError } from "../../protocol/error.ts";
import { throwIfFailed } from "../python/child.ts";
import { createHelperJob } from "./helperJob.ts";
import type { StoredCheckpoint } from "./messages.ts";
import { codeFiles } from "./pack.ts";
import type { Remote } from "./rayJobs.ts";

const NAME_LENGTH = 16;

interface StageOptions {
  remote: Remote;
  signal: AbortSignal;
  /** The folder to download to. Files that an earlier process staged for it are removed. */
  to: string;
  /** How long the job waits for a heartbeat from this process. */
  idleSeconds?: number | undefined;
}

/**
 * Stages a checkpoint's files where the dashboard can read them, with a small job that removes them afterwards, even if
 * this process is gone.
 * @throws KitError `CHECKPOINT_INVALID` if they are missing, `WORKER_FAILED`, `CLUSTER_UNREACHABLE`
 */
export async function stageFiles(
  { path }: StoredCheckpoint,
  names: readonly string[],
  { remote, signal, to, idleSeconds }: StageOptions,
) {
  const job = createHelperJob(remote, "fetch", idleSeconds);
  const args = [job.id, stageName(to), String(job.idleSeconds), path, ...names].map(shellQuoted);
  const command = `python -u -m kit_ray.fetch ${args.join(" ")}`;
  try {
    await job.submit({ files: codeFiles(), command, signal });
    for await (const message of job.follow(signal)) {
      if (message.type === "failed") throwIfFailed(message);
      if (message.type !== "ready") continue;
      const { node, folder } = message;
      const read = (name: string) => remote.read({ node, path: `${folder}/${name}` }, signal);
      return { read, close: job.stop };
    }
    throw new KitError(
      "WORKER_FAILED",
      `The cluster did not stage ${path} for download. See its log there: ray job logs ${job.id}.`,
    );
  } catch (error) {
    await job.stop();
    throw error;
  }
}

/** The folder's name on the cluster: the same for each attempt, since this machine runs one at a time. */
function stageName(folder: string): string {
  const digest = createHash("sha256").update(`${hostname()}:${folder}`).digest("hex");
  return digest.slice(0, NAME_LENGTH);
}

function shellQuoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
