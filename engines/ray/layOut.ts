import { KitError } from "../../protocol/error.ts";
import { throwIfFailed } from "../python/child.ts";
import { follow } from "./follow.ts";
import type { Stored } from "./messages.ts";
import { codeFiles } from "./pack.ts";
import type { Remote } from "./remote.ts";

interface Way {
  remote: Remote;
  signal: AbortSignal;
}

/**
 * Lays a checkpoint's files out where the dashboard can read them, by a small job that removes them
 * again.
 * @throws KitError `CHECKPOINT_INVALID` when they are gone, `WORKER_FAILED`, `CLUSTER_UNREACHABLE`
 */
export async function layOut({ path }: Stored, names: readonly string[], { remote, signal }: Way) {
  const id = `kit-fetch-${crypto.randomUUID()}`;
  const words = [path, id, ...names].map(quoted).join(" ");
  const command = `python -u -m kit_ray.fetch ${words}`;
  // If the stop does not reach the job, it ends by itself.
  const close = () => remote.stop(id).catch(() => undefined);
  try {
    await remote.submit({ id, files: codeFiles(), command, signal });
    for await (const message of follow(remote, id, signal)) {
      if (message.type === "failed") throwIfFailed(message);
      if (message.type !== "ready") continue;
      const { node, folder } = message;
      const read = (name: string) => remote.read({ node, path: `${folder}/${name}` }, signal);
      return { read, close };
    }
    throw new KitError(
      "WORKER_FAILED",
      `The cluster did not lay out ${path} to be fetched. See its log there: ray job logs ${id}.`,
    );
  } catch (error) {
    await close();
    throw error;
  }
}

/** For a shell. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
