import { basename, join } from "node:path";
import { ARTIFACTS } from "../../protocol/artifactPath.ts";
import type { TrainOptions } from "../../protocol/engine.ts";
import { removePartial } from "../checkpoint/directory.ts";
import type { Cluster } from "./cluster.ts";
import { createJob } from "./job.ts";
import { monitorJob } from "./monitor.ts";
import { pack } from "./pack.ts";
import { createRayJobs } from "./rayJobs.ts";
import { downloadFromCluster } from "./remoteTraining.ts";
import { under } from "./storage.ts";
import { isSeenBy, readStored } from "./stored.ts";

/** The driver's, in the package. */
export const COMMAND = "python -u -m kit_ray.driver";

/** Trains on a cluster; the job there has ended when this settles, unless it was left or lost. */
export async function train(cluster: Cluster, options: TrainOptions): Promise<void> {
  const { directory, signal, onRemote, onNote } = options;
  signal.throwIfAborted();
  const remote = createRayJobs(cluster);
  await remote.assertReady({ signal, onNote });
  try {
    await bringFromOther(cluster, options);
    const job = await createJob(options);
    const id = basename(directory);
    const files = pack({ id, mode: "train", job, cluster });
    const secret = crypto.randomUUID();
    const checkpoints = under(cluster.storage ?? "~/ray_results", id);
    const location = { where: remote.name, address: cluster.address(), checkpoints, secret };
    const submit = (onSent: (session?: string) => void) => {
      const onSend = (session?: string) => {
        onRemote?.({ ...location, ...(session !== undefined && { session }) });
        onSent(session);
      };
      return remote.submit({ id, secret, files, command: COMMAND, signal, onSend });
    };
    await monitorJob(remote, { id, secret, submit, options });
  } finally {
    removePartial(join(directory, ARTIFACTS));
  }
}

/** A checkpoint to resume from that another cluster keeps travels by this machine. */
async function bringFromOther(
  cluster: Cluster,
  { resumeFrom: directory, signal, onNote }: TrainOptions,
): Promise<void> {
  const stored = directory === undefined ? undefined : readStored(directory);
  if (directory === undefined || !stored || isSeenBy(cluster, stored)) return;
  await downloadFromCluster(cluster, [], { directory, signal, onNote });
}
