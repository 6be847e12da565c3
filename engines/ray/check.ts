import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { CheckOptions } from "../../protocol/engine.ts";
import { KitError } from "../../protocol/error.ts";
import type { TrainingCheck } from "../../protocol/trainingCheck.ts";
import { throwIfFailed } from "../python/child.ts";
import { createJob } from "../python/job.ts";
import { withAdvice } from "../python/train.ts";
import type { Cluster } from "./cluster.ts";
import { follow } from "./follow.ts";
import { pack } from "./pack.ts";
import { createRayJobs } from "./rayJobs.ts";
import { COMMAND } from "./train.ts";

/** Prepares a training on a worker's node, as `train` does, from a folder that is removed. */
export async function check(
  cluster: Cluster,
  { config, onNote }: CheckOptions,
): Promise<TrainingCheck> {
  const directory = mkdtempSync(join(tmpdir(), "kit-check-"));
  const remote = createRayJobs(cluster);
  const { signal } = new AbortController();
  const id = basename(directory);
  try {
    await remote.assertReady();
    const job = await createJob({ config, directory, onNote });
    const files = pack({ id, mode: "check", job, cluster });
    await remote.submit({ id, files, command: COMMAND });
    for await (const message of follow(remote, id, signal)) {
      if (message.type === "failed") throwIfFailed(message);
      if (message.type === "note") onNote?.(message.text);
      if (message.type !== "done" || !message.check) continue;
      const { kept, started, ...found } = message.check;
      return { ...found, started: withAdvice(started, kept, job) };
    }
    throw new KitError("WORKER_FAILED", "The cluster returned no check. Try again.");
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
