import { join } from "node:path";
import { isJobId } from "../../jobs/id.ts";
import { readPlan } from "../../jobs/jobFile.ts";
import { jobsPath } from "../../jobs/paths.ts";
import { endPlanned, recordChecked } from "../../jobs/plannedJob.ts";
import { KitError, messageOf } from "../../protocol/error.ts";
import { checkTraining } from "../../sdk/checkTraining.ts";
import type { TrainerOptions } from "../../sdk/options.ts";
import { type DrivenTrainer, createTrainer } from "../../sdk/trainer.ts";
import { Option } from "../command.ts";

/** For `kit serve --fine-tuning`, which plans jobs. */
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

/** Checks a planned job, and records that it can train, or ends it with the reason. */
export async function checkPlanned(project: string, id: string): Promise<void> {
  const directory = join(jobsPath(project), id);
  try {
    await checkTraining(plannedTrainer(project, id), project, { isUntimed: true });
  } catch (thrown) {
    const error = messageOf(thrown);
    return endPlanned(directory, { event: "training.failed", data: { error } });
  }
  recordChecked(directory);
}
