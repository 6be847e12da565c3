import { basename } from "node:path";
import { KitError } from "../../protocol/error.ts";
import { follow } from "./follow.ts";
import type { Stored } from "./messages.ts";
import { codeFiles } from "./pack.ts";
import type { Remote } from "./remote.ts";

interface Way {
  remote: Remote;
  signal: AbortSignal;
}

/**
 * Lays a checkpoint out where the dashboard can read it, by a small job that removes it again.
 * @param path where it goes on this machine
 */
export async function layOut(stored: Stored, path: string, { remote, signal }: Way) {
  const id = `kit-fetch-${crypto.randomUUID()}`;
  const command = `python -u -m kit_ray.fetch ${quoted(stored.path)} ${id}`;
  const close = () => remote.stop(id);
  try {
    await remote.submit({ id, files: codeFiles(), command, signal });
    for await (const message of follow(remote, id, signal)) {
      if (message.type !== "ready") continue;
      const { node, folder } = message;
      const read = (name: string) => remote.read({ node, path: `${folder}/${name}` }, signal);
      return { read, close };
    }
    throw new KitError(
      "WORKER_FAILED",
      `The cluster did not lay out ${basename(path)} to be fetched. See its log there: ray job logs ${id}.`,
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
