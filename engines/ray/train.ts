import { basename, join } from "node:path";
import { ARTIFACTS } from "../../protocol/artifactPath.ts";
import type { TrainOptions } from "../../protocol/engine.ts";
import { KitError, isKitError } from "../../protocol/error.ts";
import { removePartial } from "../checkpoint/directory.ts";
import { throwIfFailed } from "../python/child.ts";
import { createJob } from "../python/job.ts";
import type { PythonJob } from "../python/messages.ts";
import { withAdvice } from "../python/train.ts";
import type { Cluster } from "./cluster.ts";
import { follow } from "./follow.ts";
import { bringHome } from "./home.ts";
import type { RayMessage } from "./messages.ts";
import { describe } from "./notes.ts";
import { pack } from "./pack.ts";
import { createRayJobs } from "./rayJobs.ts";
import type { Remote } from "./remote.ts";

/** The driver's, in the package. */
export const COMMAND = "python -u -m kit_ray.driver";

/** Trains on a cluster; the job there has ended when this settles, unless contact was lost. */
export async function train(cluster: Cluster, options: TrainOptions): Promise<void> {
  const { directory, signal } = options;
  signal.throwIfAborted();
  const remote = createRayJobs(cluster);
  await remote.assertReady();
  try {
    const job = await createJob(options);
    assertWholeBase(job);
    const id = basename(directory);
    const files = pack({ id, mode: "train", job, cluster });
    signal.throwIfAborted();
    await run(remote, { id, files, job, options });
  } finally {
    removePartial(join(directory, ARTIFACTS));
  }
}

interface Run {
  id: string;
  files: ReturnType<typeof pack>;
  job: PythonJob;
  options: TrainOptions;
}

async function run(remote: Remote, { id, files, job, options }: Run): Promise<void> {
  const { signal } = options;
  try {
    await remote.submit({ id, files, command: COMMAND });
    for await (const message of follow(remote, id, signal)) {
      signal.throwIfAborted();
      await take(message, { remote, job, options });
    }
    signal.throwIfAborted();
  } catch (error) {
    if (!isKitError(error) || error.code !== "CLUSTER_UNREACHABLE") {
      const noteLeft = () => options.onNote?.(`warning: could not stop ${id} on ${remote.name}`);
      await remote.stop(id).catch(noteLeft);
    }
    signal.throwIfAborted();
    throw error;
  }
}

interface Taking {
  remote: Remote;
  job: PythonJob;
  options: TrainOptions;
}

async function take(message: RayMessage, { remote, job, options }: Taking): Promise<void> {
  const { directory, signal, onEvent, onNote } = options;
  if (message.type === "failed") throwIfFailed(message);
  else if (message.type === "note") onNote?.(message.text);
  else if (message.type === "hello") onNote?.(describe(message, remote.name));
  else if (message.type === "started") {
    const data = withAdvice(message.data, message.kept, job);
    onEvent({ event: "training.started", data });
  } else if (message.type === "event") {
    const { event, stored } = message;
    if (stored && event.event === "checkpoint.saved") {
      await bringHome(stored, join(directory, event.data.path), { remote, signal });
    }
    signal.throwIfAborted();
    onEvent(event);
  }
}

/** @throws KitError `CONFIG_INVALID` for an adapter to an adapter, whose merged base would stay there */
function assertWholeBase({ config, model }: PythonJob): void {
  if (!config.lora || model.adapter === undefined) return;
  throw new KitError(
    "CONFIG_INVALID",
    `${model.adapter} is an adapter, and ray trains no adapter of one. Use a whole model, or engine: python().`,
  );
}
