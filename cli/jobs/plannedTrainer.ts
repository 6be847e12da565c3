import { join } from "node:path";
import { isJobId } from "../../jobs/id.ts";
import { readPlan } from "../../jobs/jobFile.ts";
import { jobsPath } from "../../jobs/paths.ts";
import {
  type CheckNote,
  endPlanned,
  hasEnded,
  recordChecked,
  writeCheckNotes,
} from "../../jobs/plannedJob.ts";
import { KitError, messageOf } from "../../protocol/error.ts";
import type { TrainConfig } from "../../protocol/trainConfig.ts";
import { checkTraining } from "../../sdk/checkTraining.ts";
import type { TrainerOptions } from "../../sdk/options.ts";
import { type DrivenTrainer, createTrainer } from "../../sdk/trainer.ts";
import { Option } from "../command.ts";
import { EXIT_CODE } from "../process/exitCode.ts";

/** The maximum of OpenAI's `n_epochs: "auto"`. */
const MAX_EPOCHS = 25;

/** Names a job that `kit serve --fine-tuning` planned. */
export function plannedOption() {
  return new Option("--planned <job>", "the job that another process planned").hideHelp();
}

/**
 * The trainer of a planned job, which is data: no project code is loaded.
 * @throws KitError `JOB_NOT_FOUND`, `OPTION_INVALID`
 */
export function plannedTrainer(project: string, id: string): DrivenTrainer {
  const plan = isJobId(id) ? readPlan(join(jobsPath(project), id)) : undefined;
  if (!plan) throw new KitError("JOB_NOT_FOUND", `No job ${id} is planned in ${project}.`);
  return createTrainer(plan.trainer as unknown as TrainerOptions) as DrivenTrainer;
}

/**
 * Checks a planned job, and records that it can train, or ends it with the reason. Ends this process once the
 * job has ended.
 */
export async function checkPlanned(project: string, id: string): Promise<void> {
  const directory = join(jobsPath(project), id);
  const notes: CheckNote[] = [];
  const onNote = (text: string) => {
    // Here, because reading blocks this thread and its timers.
    if (hasEnded(directory)) process.exit(EXIT_CODE.cancelled);
    notes.push({ time: new Date().toISOString(), text });
    writeCheckNotes(directory, notes);
  };
  let updates: Record<string, unknown>;
  try {
    const trainer = plannedTrainer(project, id);
    const { config, started } = await checkTraining(trainer, project, { isUntimed: true, onNote });
    updates = trainingLength(config, started.rows);
  } catch (thrown) {
    const error = messageOf(thrown);
    return endPlanned(directory, { event: "training.failed", data: { error } });
  }
  recordChecked(directory, updates);
}

/** Whole epochs of about as many steps as a trainer's default, in batches that contain no row twice. */
function trainingLength({ numTrainEpochs, maxSteps = 1, batchSize }: TrainConfig, rows: number) {
  const batch = Math.min(batchSize, rows);
  const epochs = Math.round((maxSteps * batch) / rows);
  return {
    batchSize: batch,
    numTrainEpochs: numTrainEpochs ?? Math.min(MAX_EPOCHS, Math.max(1, epochs)),
    maxSteps: undefined,
  };
}
