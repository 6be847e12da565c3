import type { Job } from "../../protocol/job.ts";
import type { Artifact } from "../models/artifact.ts";

/** How a job ended, or was left. `error`: it failed, or contact with it was lost. */
export interface JobResult {
  job: Job;
  artifacts: Artifact[];
  error?: Error;
}
