import { join } from "node:path";
import { type JobStore, createJobStore } from "../../../jobs/store.ts";
import { ARTIFACTS, checkpointFolder } from "../../../protocol/artifactPath.ts";
import { type FileStore, openFileStore } from "./fileStore.ts";
import { writeResultFile } from "./resultFile.ts";
import { type TrainingRuns, createTrainingRuns } from "./trainingRuns.ts";
import { type TuningJob, checkpointName, modelName, stepsOf } from "./tuningJob.ts";
import { type UploadLimits, UPLOAD_LIMITS, createUploads } from "./upload.ts";

/** A job's model to serve. */
export interface TunedModel {
  name: string;
  /** Absolute path of a checkpoint, or of a job's directory, which stands for the job's result. */
  directory: string;
  /** ISO 8601, UTC. */
  createdAt: string;
}

export interface FineTuningOptions {
  /** Absolute path. */
  project: string;
  /** The `kit` command: a program and its first arguments. */
  kit: string[];
  /** Serves a model under its name. */
  serveModel: (model: TunedModel) => Promise<void>;
  /** Overrides {@link UPLOAD_LIMITS}. For tests. */
  uploadLimits?: Partial<UploadLimits>;
}

/** What OpenAI's files and fine-tuning jobs need. */
export interface FineTuning {
  project: string;
  files: FileStore;
  jobs: JobStore;
  upload: ReturnType<typeof createUploads>;
  trainingRuns: TrainingRuns;
}

/** @throws KitError `LINK_IN_KIT` */
export function createFineTuning(
  { project, kit, serveModel, uploadLimits }: FineTuningOptions,
  onError: (error: unknown) => void,
): FineTuning {
  const files = openFileStore(project);
  const jobs = createJobStore(project);
  const upload = createUploads(files, { ...UPLOAD_LIMITS, ...uploadLimits });
  const served = new Set<string>();

  async function serveOnce(name: string, directory: string, { createdAt }: TuningJob) {
    if (served.has(name)) return;
    await serveModel({ name, directory, createdAt });
    served.add(name);
  }

  const trainingRuns = createTrainingRuns({
    project,
    kit,
    jobs,
    onError,
    async onModel(job) {
      const steps = stepsOf(job);
      for (const step of steps) {
        const checkpoint = join(job.directory, ARTIFACTS, checkpointFolder(step));
        await serveOnce(checkpointName(job, step), checkpoint, job);
      }
      if (job.status !== "succeeded") return;
      if (steps.length > 0) await serveOnce(modelName(job), job.directory, job);
      writeResultFile(job, files);
    },
  });
  return { project, files, jobs, upload, trainingRuns };
}
