import { basename } from "node:path";
import type { CheckOptions } from "../../protocol/engine.ts";
import { KitError } from "../../protocol/error.ts";
import type { TrainingCheck } from "../../protocol/trainingCheck.ts";
import { throwIfFailed } from "../python/child.ts";
import type { SkippedRows } from "../python/messages.ts";
import { withAdvice } from "../python/train.ts";
import { makeCheckFolder, removeCheckFolder } from "../training/checkFolder.ts";
import type { Cluster } from "./cluster.ts";
import { follow } from "./follow.ts";
import { type JobLog, clusterNote } from "./messages.ts";
import { pack } from "./pack.ts";
import { type Remote, createRayJobs } from "./rayJobs.ts";
import { COMMAND, createJob } from "./remoteTraining.ts";

/** Prepares a training run on a worker's node, as `train` does, in a temporary folder. */
export async function check(cluster: Cluster, options: CheckOptions): Promise<TrainingCheck> {
  const remote = createRayJobs(cluster);
  const directory = makeCheckFolder();
  const id = basename(directory);
  const secret = crypto.randomUUID();
  let isSent = false;
  try {
    await remote.assertReady(options);
    const job = await createJob({ ...options, directory });
    const files = pack({ id, mode: "check", job: { ...job, measuresLoss: options.loss }, cluster });
    const onSend = () => (isSent = true);
    await remote.submit({ id, secret, files, command: COMMAND, signal: options.signal, onSend });
    const { skipped, started, ...found } = await awaitCheck(remote, { id, secret }, options);
    return { ...found, started: withAdvice(started, skipped, job) };
  } catch (error) {
    // An unreachable job ends by itself.
    if (isSent) await remote.stop(id).catch(() => {});
    options.signal?.throwIfAborted();
    throw error;
  } finally {
    removeCheckFolder(directory);
  }
}

async function awaitCheck(
  remote: Remote,
  job: JobLog,
  { signal = new AbortController().signal, onNote }: CheckOptions,
): Promise<TrainingCheck & { skipped: SkippedRows }> {
  for await (const message of follow(remote, job, signal, { onNote })) {
    if (message.type === "failed") throwIfFailed(message);
    if (message.type === "note") onNote?.(clusterNote(message.text));
    if (message.type === "done" && message.check) return message.check;
  }
  throw new KitError("WORKER_FAILED", "The cluster returned no check. Try again.");
}
