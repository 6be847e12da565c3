import { KitError } from "../../protocol/error.ts";
import { createJob as createPythonJob } from "../python/job.ts";
import type { PythonJob } from "../python/messages.ts";

/**
 * The Python engine's job. What only the workers see is named by a URL, and read by them.
 * @throws KitError as the Python engine's
 */
export async function createJob(options: Parameters<typeof createPythonJob>[0]) {
  const job = await createPythonJob(options);
  assertWholeBase(job);
  return job;
}

/** @throws KitError `CONFIG_INVALID` for an adapter to an adapter, whose merged base would stay there */
function assertWholeBase({ config, model }: PythonJob): void {
  if (!config.lora || model.adapter === undefined) return;
  throw new KitError(
    "CONFIG_INVALID",
    `${model.adapter} is an adapter, and ray trains no adapter of one. Use a whole model, or engine: python().`,
  );
}
